package async

import "context"

// Go calls start to run f on a goroutine, and returns the channel on which the result
// of f comes, once. The goroutine ends even if nobody receives it. If start
// reports that it does not run f, or f does not return, nothing comes.
//
// Start decides who waits for the goroutine; a recipe passes the Go of its kit.
func Go[T any](start func(func(context.Context)) bool, f func(context.Context) T) <-chan T {
	result := make(chan T, 1) // so that the goroutine ends even if nobody receives
	start(func(ctx context.Context) { result <- f(ctx) })
	return result
}
