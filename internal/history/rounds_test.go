package history

import "testing"

// A round begins when enough are in, and ends for all at once.
func TestRounds(t *testing.T) {
	const in = `
		0 a ask barrier /b n=2
		5 b ask barrier /b n=2
		6 a acquired token=1
		7 b acquired token=2
		`
	check(t, []scene{
		{"entered and left together", "", in + `
			8 a release
			9 b release
			10 a released
			11 b released`},
		{"let in too early", "barrier", `
			0 a ask barrier /b n=2
			1 a acquired token=1
			5 b ask barrier /b n=2`},
		{"with one that had left", "barrier", `
			0 b ask barrier /b n=2
			1 b gave_up
			200000 a ask barrier /b n=2
			200001 a acquired token=1`},
		{"one at a time", "barrier", `
			0 a ask barrier /b n=3
			1 b ask barrier /b n=3
			2 b acquired token=1
			3 b release
			4 b released
			5 c ask barrier /b n=3
			6 c release
			7 c gave_up`},
		{"let out too early", "barrier", in + `
			8 a release
			9 a released
			10 b release`},
		{"let out after a death", "", in + `
			8 a release
			9 b died
			10 a released`},
		{"the next round, of which the first hears before its release returns", "", in + `
			8 a release
			9 b release
			10 b released
			10 b ask barrier /b n=2 op=2
			11 c ask barrier /b n=2
			12 c acquired token=3
			13 b acquired token=4 op=2
			14 a released`},
	})
}
