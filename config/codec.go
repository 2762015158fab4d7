package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"github.com/zkcoord/zkcoord/coord"
)

// What an error of this package can be, beside those of package coord. Test for
// these with [errors.Is].
var (
	// ErrMissing says that there is no znode at the path, or one whose data are null,
	// which is how directories are made. It is also zk.ErrNoNode.
	ErrMissing = fmt.Errorf("config: nothing is stored: %w", zk.ErrNoNode)

	// ErrUnknown says that it could not be learned what became of a change: it
	// may have been carried out, once, or not; or it may still be, as long as
	// the ensemble keeps the session in which it was asked for.
	ErrUnknown = errors.New("config: the change may or may not have been carried out")
)

// JSON decodes data as encoding/json does, and so null as the zero T. It goes with
// [EncodeJSON].
func JSON[T any](data []byte) (T, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

// EncodeJSON encodes v as encoding/json does.
func EncodeJSON[T any](v T) ([]byte, error) { return json.Marshal(v) }

var errNotText = errors.New("not valid UTF-8")

// Text returns data as it is. It fails if that is not valid UTF-8. It goes with
// [EncodeText].
func Text(data []byte) (string, error) {
	if !utf8.Valid(data) {
		return "", errNotText
	}
	return string(data), nil
}

// EncodeText returns s as it is. It fails if that is not valid UTF-8.
func EncodeText(s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errNotText
	}
	return []byte(s), nil
}

// errNil is the refusal of a function that is nil.
func errNil(what string) error { return fmt.Errorf("config: the function to %s is nil", what) }

// decoded returns what decode makes of data, which is decode's to keep. The error
// names path. A panic is an error: it comes of what somebody has stored.
func decoded[T any](path string, decode func([]byte) (T, error), data []byte) (T, error) {
	v, err := guarded("decoder", decode, data)
	if err != nil {
		var none T
		return none, &coord.Error{Op: "decode", Path: path, Err: err}
	}
	return v, nil
}

// encoded returns what is to be stored for v. The error names path.
func encoded[T any](path string, encode func(T) ([]byte, error), v T) ([]byte, error) {
	data, err := guarded("encoder", encode, v)
	if err == nil && len(data) > coord.MaxData {
		err = fmt.Errorf("config: %d bytes, at most %d can be stored", len(data), coord.MaxData)
	}
	if err != nil {
		return nil, &coord.Error{Op: "encode", Path: path, Err: err}
	}
	// A copy, because the request may be under way when the caller, who may use
	// the bytes again, has left; and not null, which is what directories have.
	return append([]byte{}, data...), nil
}

// guarded calls f with v and turns a panic into an error.
func guarded[V, R any](what string, f func(V) (R, error), v V) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("config: %s panicked: %v", what, p)
		}
	}()
	return f(v)
}
