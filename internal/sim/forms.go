package sim

import "strings"

// forms are what lines look like.
var forms = []form{
	op("CLIENT lock PATH hold DUR", (*actor).lock),
	op("CLIENT lock PATH wait DUR hold DUR", (*actor).lock),
	op("CLIENT trylock PATH hold DUR", (*actor).tryLock),
	op("CLIENT all PATH PATH hold DUR", (*actor).all),
	op("CLIENT claim PATH hold DUR", (*actor).claim),
	op("CLIENT read PATH hold DUR", (*actor).read),
	op("CLIENT write PATH hold DUR", (*actor).writeLock),
	op("CLIENT downgrade PATH hold DUR", (*actor).downgrade),
	op("CLIENT campaign PATH hold DUR", (*actor).campaign),
	op("CLIENT candidate PATH for DUR", (*actor).candidate),
	op("CLIENT permit PATH hold DUR", (*actor).permit),
	op("CLIENT resize PATH to N", (*actor).resize),
	op("CLIENT join PATH hold DUR", (*actor).join),
	op("CLIENT member PATH for DUR", (*actor).member),
	op("CLIENT enter PATH wait DUR hold DUR", (*actor).enter),
	op("CLIENT close PATH", (*actor).closeGate),
	op("CLIENT open PATH", (*actor).openGate),
	op("CLIENT pass PATH", (*actor).pass),
	op("CLIENT set PATH", (*actor).set),
	op("CLIENT modify PATH", (*actor).modify),
	op("CLIENT get PATH", (*actor).get),
	op("CLIENT publish PATH", (*actor).publish),
	op("CLIENT add PATH N", (*actor).add),
	op("CLIENT sum PATH", (*actor).sum),
	op("CLIENT put PATH", (*actor).put),
	op("CLIENT take PATH hold DUR", (*actor).take),
	op("CLIENT watch PATH for DUR", (*actor).follow),

	strike("cut CLIENT for DUR", (*world).cut),
	strike("stall CLIENT DIR for DUR", (*world).stall),
	strike("lose CLIENT DIR OP", (*world).lose),
	strike("tear CLIENT DIR OP", (*world).tear),
	strike("tear-after CLIENT DIR OP", (*world).tearLate),
	strike("reset CLIENT", (*world).reset),
	strike("expire CLIENT", (*world).expire),
	strike("pause CLIENT for DUR", (*world).pause),
	strike("freeze for DUR", (*world).freeze),
	strike("isolate N for DUR", (*world).isolate),
	strike("delete PATH N", (*world).remove),
	strike("deny PATH for DUR", (*world).deny),
	strike("fill PATH N", (*world).fill),
}

func op(text string, f func(a *actor)) form { return form{strings.Fields(text), f, nil} }

func strike(text string, f func(w *world, l Line)) form { return form{strings.Fields(text), nil, f} }
