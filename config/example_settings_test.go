package config_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkcoord/zkcoord/config"
	"github.com/zkcoord/zkcoord/coord"
)

// Settings are what the program is set to.
type Settings struct {
	RPS     int           `json:"rps"`
	Timeout time.Duration `json:"timeout"`
}

func (s Settings) validate() error {
	if s.RPS <= 0 || s.RPS > 10_000 {
		return fmt.Errorf("rps %d is not between 1 and 10000", s.RPS)
	}
	return nil
}

// with returns s changed as args say, such as rps=5.
func (s Settings) with(args []string) (_ Settings, err error) {
	for _, arg := range args {
		switch k, v, _ := strings.Cut(arg, "="); k {
		case "rps":
			s.RPS, err = strconv.Atoi(v)
		case "timeout":
			s.Timeout, err = time.ParseDuration(v)
		default:
			err = fmt.Errorf("no setting %q", k)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// command carries out one command: get, set KEY=VALUE..., rm or watch.
func command(ctx context.Context, c *coord.Client, name string, args ...string) error {
	codec := config.JSON[Settings]().Check(Settings.validate)
	codec.Default = Settings{RPS: 100, Timeout: time.Second}
	settings := config.New(c, "/app/settings", codec)
	switch name {
	case "get":
		u, err := settings.Read(ctx)
		if err == nil {
			fmt.Printf("%+v, version %d, set %v ago\n", u.Value, u.Version, time.Since(u.Modified).Round(time.Minute))
		}
		return err
	case "set":
		u, err := settings.Modify(ctx, func(s Settings) (Settings, error) { return s.with(args) })
		if err == nil {
			fmt.Printf("now %+v, version %d\n", u.Value, u.Version)
		}
		return err
	case "rm":
		return settings.Delete(ctx)
	case "watch": // as a program does that is set by them: there is always a value to use
		updates := settings.Watch(ctx)
		for u := range updates.All() {
			fmt.Printf("%+v, suspended %t, %v\n", u.Value, u.Suspended, u.Err)
		}
		return updates.Err()
	}
	return errors.New("usage: settings get | set KEY=VALUE... | rm | watch")
}

// A program that shows, changes, removes and follows its settings. They have
// defaults, and nothing that is not valid is ever stored or used.
func Example_settings() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, stop := connect(ctx)
	defer stop()
	for _, line := range []string{"get", "set rps=5", "set timeout=2s", "set rps=0", "set speed=9", "get", "rm", "get", "help"} {
		words := strings.Fields(line)
		if err := command(ctx, c, words[0], words[1:]...); err != nil {
			fmt.Println(err)
		}
	}
	ctx, cancel = context.WithTimeoutCause(ctx, time.Second/10, errors.New("seen enough"))
	defer cancel()
	fmt.Println(command(ctx, c, "watch"))
	// Output:
	// read /app/settings: config: nothing is stored
	// now {RPS:5 Timeout:1s}, version 0
	// now {RPS:5 Timeout:2s}, version 1
	// modify /app/settings: encode: rps 0 is not between 1 and 10000
	// modify /app/settings: no setting "speed"
	// {RPS:5 Timeout:2s}, version 1, set 0s ago
	// read /app/settings: config: nothing is stored
	// usage: settings get | set KEY=VALUE... | rm | watch
	// {RPS:100 Timeout:1s}, suspended false, watch /app/settings: config: nothing is stored
	// watch /app/settings: seen enough
}
