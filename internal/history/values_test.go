package history

import "testing"

// Each addition counts once.
func TestSums(t *testing.T) {
	const added = `
		0 a call /n f=add value=2
		1 a ok value=2
		2 a call /n f=add value=3
		3 a unknown
		`
	check(t, []scene{
		{"with the unknown", "", added + `
			5 z call /n f=final
			6 z ok value=5`},
		{"without the unknown", "", added + `
			5 z call /n f=final
			6 z ok value=2`},
		{"too little", "sums", added + `
			5 z call /n f=final
			6 z ok value=1`},
		{"too much", "sums", added + `
			5 z call /n f=final
			6 z ok value=6`},
		{"refused", "sums", `
			0 a call /n f=add value=2
			1 a refused
			5 z call /n f=final
			6 z ok value=2`},
		{"one sum for two", "sums", `
			0 a call /n f=add value=2
			0 b call /n f=add value=2
			1 a ok value=2
			2 b ok value=2`},
		{"old", "sums", `
			0 a call /n f=add value=2
			1 a ok value=2
			2 b call /n f=sum
			3 b ok value=0`},
		{"old, at a leader that was cut off", "", `
			0 z fault f=isolate
			0 a call /n f=add value=2
			1 a ok value=2
			2 b call /n f=sum
			3 b ok value=0`},
		{"negative", "", `
			0 a call /n f=add value=2
			0 b call /n f=add value=-3
			1 a ok value=-1
			2 b ok value=-3
			3 c call /n f=sum
			4 c ok value=-1`},
		{"negative, and lost", "sums", `
			0 b call /n f=add value=-3
			2 b ok value=-3
			3 c call /n f=sum
			4 c ok value=0`},
	})
}

// What is read was written, and no change is lost.
func TestValues(t *testing.T) {
	check(t, []scene{
		{"read and changed", "", `
			0 a call /v f=set value=x
			1 a ok
			2 b call /v f=modify
			3 b ok was=x value=y
			4 c call /v f=get
			5 c ok value=y`},
		{"never written", "values", `
			0 a call /v f=set value=x
			1 a ok
			4 c call /v f=get
			5 c ok value=y`},
		{"refused, and read", "values", `
			0 a call /v f=set value=x
			1 a refused
			2 b call /v f=set value=y
			3 b ok
			4 c call /v f=get
			5 c ok value=x`},
		{"read before it was written", "values", `
			0 c call /v f=get
			1 c ok value=x
			2 a call /v f=set value=x
			3 a ok`},
		{"shown, and never written", "values", `
			0 a call /v f=set value=x
			1 a ok
			2 c seen /v value=y zxid=9`},
		{"two changes of one", "values", `
			0 a call /v f=set value=x
			1 a ok
			2 b call /v f=modify
			2 c call /v f=modify
			3 b ok was=x value=y
			4 c ok was=x value=z`},
	})
}

// The work of each item is done once.
func TestItems(t *testing.T) {
	const put = `
		0 a call queue /q f=put value=i
		1 a ok
		`
	check(t, []scene{
		{"done", "", put + `
			2 b call /q f=done value=i
			3 b ok
			9 z call /q f=final
			9 z ok`},
		{"done twice", "items", put + `
			2 b call /q f=done value=i
			2 c call /q f=done value=i
			3 b ok
			4 c ok`},
		{"not done", "items", put + `
			9 z call /q f=final
			9 z ok`},
		{"not done for sure", "", put + `
			2 b call /q f=done value=i
			3 b unknown
			9 z call /q f=final
			9 z ok`},
		{"not put for sure", "", `
			0 a call queue /q f=put value=i
			1 a unknown
			9 z call /q f=final
			9 z ok`},
		{"done, and never put", "items", `
			2 b call /q f=done value=i
			3 b ok`},
		{"done, and put later", "items", `
			2 b call /q f=done value=i
			3 b ok
			4 a call queue /q f=put value=i
			5 a ok`},
	})
}

// A stream does not go back, and comes to the final value.
func TestViews(t *testing.T) {
	const final = `
		9 z call /v f=final
		9 z ok value=y
		`
	check(t, []scene{
		{"forward", "", `
			1 a seen /v value=x zxid=5
			2 a suspended /v
			3 a seen /v value=y zxid=6` + final},
		{"back", "views", `
			1 a seen /v value=x zxid=5
			3 a seen /v value=y zxid=4`},
		{"back in the next session", "", `
			1 a seen /v value=x zxid=5
			2 a suspended /v f=expired
			3 a seen /v value=y zxid=4`},
		{"another stream", "", `
			1 a seen /v value=x zxid=5
			3 a seen /v value=y zxid=4 op=2`},
		{"two values of one change", "views", `
			1 a seen /v value=x zxid=5
			3 b seen /v value=y zxid=5`},
		{"not to the end", "views", `
			1 a seen /v value=y zxid=5
			2 b seen /v value=x zxid=4` + final},
		{"suspended in the end", "views", `
			1 a seen /v value=y zxid=5
			2 a suspended /v` + final},
		{"dead in the end", "", `
			2 b seen /v value=x zxid=4
			3 b died` + final},
	})
}
