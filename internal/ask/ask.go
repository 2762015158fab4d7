package ask

// Of returns what starts requests in a session, which is a *coord.Session. What it
// returns is a Session[coord.Op, coord.OpResult]. Coord sets it.
var Of func(session any) any

// A Session starts requests. They are made in the order in which they are started, and
// in the order of the session's other requests. Its methods do not block.
type Session[Op, Result any] interface {
	// Txn starts a transaction. Its error means what that of coord.Session.Txn means.
	Txn(ops ...Op) *Pending[[]Result]
	// Children starts to list the children of a znode, in no order. The error of a znode
	// that does not exist is coord.ErrNoNode. If an error is not a refusal, there was no
	// answer: the caller asks again.
	Children(path string) *Pending[[]string]
	// Delete starts to delete a znode, if it has the version, -1 for any. The error is
	// like that of Children; the znode may then have been deleted.
	Delete(path string, version int32) *Pending[struct{}]
	// Sync makes the server catch up with the leader before what is started after it.
	Sync(path string) *Pending[struct{}]
}

// A Pending is a request that was started. A nil one is never over.
type Pending[T any] struct {
	over   <-chan struct{}
	result func() (T, error)
}

// NewPending returns the Pending whose result is there when over is closed.
func NewPending[T any](over <-chan struct{}, result func() (T, error)) *Pending[T] {
	return &Pending[T]{over, result}
}

// Done returns a channel that is closed when there is a result: at the latest when the
// connection ends on which the request was sent, or if it was not sent, when the session
// is over. The end of the session alone does not close it: an answer may be on its way.
func (p *Pending[T]) Done() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.over
}

// Result returns what has become of the request. It is called once, after Done is closed.
func (p *Pending[T]) Result() (T, error) { return p.result() }
