module github.com/zkcoord/zkcoord/internal/history/linear

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/zkcoord/zkcoord v0.0.0
)

replace github.com/zkcoord/zkcoord => ../../../
