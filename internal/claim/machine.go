package claim

// A state says where a claim stands. The driver reads off it what to tell the
// owner: entering held is the acquisition; a cause is the end of it, whether the
// claim was held or not; done is when nothing is left of it.
type state uint8

const (
	creating state = iota // a create is in flight
	looking               // a create found a znode at the path, or its answer was lost: asked what is there
	taken                 // another's znode is at the path; following that
	clearing              // our znodes are there; asked for the removal of earlier holders' guards
	checking              // asked whether the znode at the path is ours
	dropping              // it is not; asked for the removal of our guard
	renewing              // ours, and nobody else can harm it; asked for the session to be renewed
	held                  // ours, until our znode or the session is known to be gone
	writing               // as held; a write to our znode is in flight
	revoked               // was held, told to give way; our znodes keep others out until the owner quits
	leaving               // asked for the removal of our znodes
	renaming              // somebody has removed our guard; asked for another, to leave by
	done                  // nothing more will be asked, and nothing heard matters
)

// A kind is what an input is about.
type kind uint8

const (
	// Replies to the one request in flight.
	created   kind = iota // create: our znodes are there; alone if there is no other guard
	exists                // create: a znode is at the path, or the one to replace is not there as it was
	guardless             // create: our guard was refused, and nothing was made
	unknown               // create: the connection broke, it may have been done or not
	seen                  // look: at is there, and whose it is
	cleared               // clear: the guards are gone
	renewed               // renew
	written               // write: done, and at is what it has made of the znode
	outdated              // write, remove: the znode at the path has another version
	missing               // write, remove: one of the znodes is not there
	kept                  // remove: our guard may not be removed, because of err, and nothing was
	renamed               // rename: our guard has another name
	removed               // remove, drop: what was to be removed is not there any more
	refused               // any: err, and it was not done

	// Word of the znode at the path, which is followed from taken and from held on.
	freed  // the one in the way is gone
	gone   // ours is not there any more
	marked // somebody wrote into ours that the holder shall give way

	// Word of neither. If several inputs are due, expired goes first.
	fresh   // in held: the owner has new data for the znode
	expired // the session is over because of err, and every request in flight is void
	quit    // the owner wants it no more because of err, never nil; may come more than once
)

// An owner says whose a znode is.
type owner uint8

const (
	nobody  owner = iota // it is not there
	mine                 // our claim has made it
	former               // an earlier claim of this client left it behind, and we may replace it
	another              // none of these
)

// A znode is what a claim has to know of one. The zero znode is not there.
type znode struct {
	czxid   int64
	version int32
}

// An input is what a machine is told.
type input struct {
	kind  kind
	at    znode // created, seen, written
	whose owner // seen
	alone bool  // created
	err   error // guardless, kept, refused, expired, quit; seen another: why the path cannot be ours
}

// An action is the kind of an op.
type action uint8

const (
	nothing action = iota
	create         // make our znodes, in place of the znode at if that is not zero: created, exists, guardless, unknown or refused
	look           // ask for the znode at the path, or for our guard: seen or refused
	watch          // follow the znode at, which is another's: freed
	clear          // remove the guards of those who held before: cleared or refused
	renew          // have the session renewed by a transaction: renewed
	write          // write the newest data, if the znode still is as at: written, outdated, missing or refused
	remove         // remove the znode at, which is ours, and our guard with it: removed, outdated, missing, kept or refused
	rename         // make a new guard, only to leave by: renamed or refused
	drop           // remove our guard alone: removed or refused
)

// An op is what a machine wants done. All but watch are requests, of which at
// most one is in flight. All but create are repeated until they are answered.
type op struct {
	action action
	at     znode
	guard  bool // look: for our guard
	sync   bool // look: bring the server up to date first
	keep   bool // remove: only if our guard is there, and leave that
}

// causes are the reasons that the machine itself finds to give up.
type causes struct {
	deleted error // somebody else removed our znode
	revoked error // somebody asked us to give way
}

// A machine makes one claim in one session. It does no I/O and reads no clock:
// step is a pure function of what it has been told. It starts in creating with
// op{action: create} in flight.
type machine struct {
	guarded bool // our znode has a guard
	strict  bool // an owner that may not remove an earlier guard does not hold
	wait    bool // follow another's znode until it is gone, rather than give up
	causes  causes

	state     state
	token     int64 // the czxid of our znode; zero if there is none, or none that we know of
	at        znode // our znode as last seen
	displaced bool  // the znode at the path is known not to be ours any more
	absent    bool  // a removal found one of our znodes missing
	keep      bool  // our guard may not be removed
	left      error // why something of ours stays until the session ends
	cause     error // the first reason to end; none may be held or waited for after it
}
