package barrier

// A state says where one that enters stands. The driver reads off it what to tell the
// owner: being inside is the acquisition, a cause is the end of it, and done is when
// nothing more is to be done.
type state uint8

const (
	listing    state = iota // asked who is in, and whether a round is open
	entering                // asked for our znodes
	checking                // the answer to that was lost; asked whether they are there
	opening                 // n are in; asked to open the round
	waiting                 // in, until somebody opens the round
	confirming              // the round is open; it is to be confirmed that our znode is there
	inside                  // acquired
	staying                 // leaving, the lowest; following the highest, to list again when it has left
	going                   // leaving, another; asked for the lowest to be followed, to go then
	removing                // asked for the removal of our znodes
	outside                 // not in; following one that is, to list again when it has left
	clearing                // a round is open in which nobody is left; asked to end it
	done
)

// A kind is what an input is about.
type kind uint8

const (
	// Replies to the one request in flight.
	listed  kind = iota // list: the directory is as the input says
	created             // create, check: our znodes are there
	changed             // create, open, clear: done, or the directory is not as it was listed; check: our znodes are not there
	taken               // create: another has the ID, because of err
	unknown             // create: the connection broke, it may have been done or not
	removed             // remove: our znodes are gone
	closed              // remove: and so is ready; all have left
	refused             // any: err, and it was not done

	// Word of ready, which is followed while waiting, or the reply to open.
	opened // the round is open

	// Word of our znode, which is followed until we ask for its removal.
	confirmed // it is there
	doubted   // the connection is down
	gone      // it is not there any more

	// Word of the znode that is followed because an op said so.
	followed // it is there, and its end will be told
	left     // it is gone, or is another one's now

	expired // the session is over because of err; goes before all else that is due
	quit    // the owner wants it no more because of err, never nil
)

// An input is one thing that has happened.
type input struct {
	kind
	barrier       // listed
	token   int64 // created: the transaction that has made our znode
	held    bool  // quit: it was acquired
	err     error
}

// A barrier is the directory as it was at one moment.
type barrier struct {
	version int32    // of its data, which are written to when a round opens and when it ends
	open    bool     // ready is there
	few     bool     // fewer than were asked for are in; nothing else is known
	members []string // the IDs of those who are in, in order
}

// An action is what a machine wants to be done.
type action uint8

const (
	nothing action = iota
	list           // list the directory; with n, only if so many are in
	create         // make our znodes, if the directory has the version
	check          // find out whether our znodes are there
	open           // open a round of the members, if all are in and the directory has the version
	await          // follow ready until it is there
	follow         // follow the znode of the first of the members
	remove         // remove our znodes; with last, and ready, if the directory has the version; singly, if one was deleted
	clear          // remove ready, if the directory has the version
)

// An op is an action with what it is about.
type op struct {
	action
	n       int
	version int32
	members []string
	last    bool
	singly  bool
}

// A machine decides what one that enters does next. It is a value: what it has come to
// depends on its inputs alone.
type machine struct {
	id    string
	n     int
	lost  error // the cause of the end when our znode was deleted
	state state

	in       bool   // our znodes are there, or were
	sure     bool   // our znode was there on this connection
	vanished bool   // it was deleted, and perhaps others that we do not know of came in
	token    int64  // the transaction that has made it
	patient  bool   // was inside and is released: not done before all have left
	round    int32  // which then was open
	ahead    string // the one that is followed in staying, going and outside; "" once it has left
	known    bool   // that one is followed: its end will be told
	blind    bool   // the directory may not be listed
	cause    error  // of the end
	stays    error  // why our znodes could not be removed
}
