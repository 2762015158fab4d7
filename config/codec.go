package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/zkcoord/zkcoord/coord"
	"github.com/zkcoord/zkcoord/internal/zkpath"
)

// A Codec says how values of type T are stored. Its functions may be called by
// several goroutines at once. A panic of either is an error.
//
// A [Value] or [Tree] that is only read needs no Encode, and one that is only
// written no Decode.
type Codec[T any] struct {
	// Decode returns the value that is stored as data, which it may keep, or an
	// error if the data are malformed.
	Decode func(data []byte) (T, error)

	// Encode returns what to store for v, or an error if v must not be stored. More
	// than 992 KiB are not stored: that is [coord.ErrTooLarge].
	Encode func(v T) ([]byte, error)

	// Default stands for the value while no good one is known: it is what an
	// [Update] has until then, and what [Value.Modify] starts from if nothing is
	// stored. Unless it is the zero T, it must be good: if Encode, Decode or
	// [Codec.Check] refuses it, so does every method of a Value or Tree.
	//
	// Each use has a copy of its own, which may be modified: the Default is encoded when
	// a Value or Tree is first used, and decoded for each use. A codec that lacks Encode or
	// Decode cannot do that. All of its uses share the Default.
	Default T

	valid func(T) error // what Check has added, nil if nothing
}

// Check returns a codec that is c, and besides refuses each value for which valid
// returns an error: such a value is malformed where it is stored already, and is
// not stored where it is not.
func (c Codec[T]) Check(valid func(T) error) Codec[T] {
	decode, encode, before := c.Decode, c.Encode, c.valid
	c.valid = func(v T) error {
		if before != nil {
			if err := before(v); err != nil {
				return err
			}
		}
		return valid(v)
	}
	if decode != nil {
		c.Decode = func(data []byte) (T, error) {
			v, err := decode(data)
			if err == nil {
				err = valid(v)
			}
			return v, err
		}
	}
	if encode != nil {
		c.Encode = func(v T) ([]byte, error) {
			if err := valid(v); err != nil {
				return nil, err
			}
			return encode(v)
		}
	}
	return c
}

// JSON returns a codec that uses encoding/json. Null is the zero T, and so is what
// a document leaves out.
func JSON[T any]() Codec[T] {
	return Codec[T]{
		Decode: func(data []byte) (v T, err error) {
			err = json.Unmarshal(data, &v)
			return v, err
		},
		Encode: func(v T) ([]byte, error) { return json.Marshal(v) },
	}
}

// Text returns a codec for strings that are stored as they are. Bytes that are not
// valid UTF-8 are malformed.
func Text() Codec[string] {
	return Codec[string]{
		Decode: func(data []byte) (string, error) {
			if !utf8.Valid(data) {
				return "", errNotText
			}
			return string(data), nil
		},
		Encode: func(s string) ([]byte, error) {
			if !utf8.ValidString(s) {
				return nil, errNotText
			}
			return []byte(s), nil
		},
	}
}

var errNotText = errors.New("not valid UTF-8")

// A target is where values are kept, and how.
type target[T any] struct {
	c     *coord.Client
	path  string
	codec Codec[T]

	// encoded returns the codec's Default as Encode makes it, nil if there is nothing to
	// copy; or what is wrong with it.
	encoded func() ([]byte, error)
}

func newTarget[T any](c *coord.Client, path string, codec Codec[T]) target[T] {
	return target[T]{c, path, codec, sync.OnceValues(codec.encodeDefault)}
}

// encodeDefault returns c's Default encoded, nil if it is zero or cannot be copied; or
// what is wrong with it.
func (c Codec[T]) encodeDefault() (data []byte, err error) {
	switch {
	case reflect.ValueOf(&c.Default).Elem().IsZero():
		return nil, nil
	case c.Encode != nil && c.Decode != nil:
		if data, err = c.encode(c.Default); err == nil {
			_, err = c.decode(bytes.Clone(data))
		}
	case c.valid != nil:
		_, err = guarded("check", func(v T) (struct{}, error) { return struct{}{}, c.valid(v) }, c.Default)
	}
	if err != nil {
		return nil, fmt.Errorf("config: the codec's Default: %w", err)
	}
	return data, nil
}

// fallback returns a copy of the codec's Default, if it can be copied.
func (t target[T]) fallback() T {
	if data, err := t.encoded(); err == nil && data != nil {
		if v, err := t.codec.decode(bytes.Clone(data)); err == nil {
			return v
		}
	}
	return t.codec.Default
}

// check returns why a method that needs these functions of the codec is refused.
func (t target[T]) check(decode, encode bool) error {
	if err := zkpath.Check(t.path); err != nil {
		return err
	}
	switch {
	case decode && t.codec.Decode == nil:
		return errors.New("config: the codec has no Decode")
	case encode && t.codec.Encode == nil:
		return errors.New("config: the codec has no Encode")
	}
	_, err := t.encoded()
	return err
}

// decode returns what c makes of data, which are Decode's to keep.
func (c Codec[T]) decode(data []byte) (T, error) { return guarded("decode", c.Decode, data) }

// encode returns what is to be stored for v.
func (c Codec[T]) encode(v T) ([]byte, error) {
	data, err := guarded("encode", c.Encode, v)
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxData:
		return nil, fmt.Errorf("encode: %w: %d bytes, at most %d can be stored", coord.ErrTooLarge, len(data), maxData)
	}
	// A copy, because the request may be under way when the caller, who may use
	// the bytes again, has left; and not null, which is what directories have.
	return append([]byte{}, data...), nil
}

// maxData is the most bytes that are stored at once. Servers take requests of just
// under 1 MiB, unless they are told otherwise, and what is left over is for the paths
// and access lists. Where these need more, Kit.CheckSize has the last word.
const maxData = 1<<20 - 32<<10

// guarded calls f with v. It turns a panic into an error, and says what failed.
func guarded[V, R any](what string, f func(V) (R, error), v V) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panicked: %v", what, p)
		}
	}()
	r, err = f(v)
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return r, err
}
