package render

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// The limits of one template, in units of work unless stated otherwise.
const (
	// maxWork is the whole budget. A large template of a real package needs about ten
	// thousand units.
	maxWork = 10_000_000
	// iterationWork is the cost of an iteration of a loop, or of calling a template.
	iterationWork = 100
	// bytesPerUnit is the number of bytes of text that cost one unit.
	bytesPerUnit = 64
	// maxCount is the number of repetitions that a function may make.
	maxCount = 10_000
	// maxDepth is the number of levels that lists and objects may be nested. No manifest
	// is nested that deep; the limit stops a value that contains itself.
	maxDepth = 100
)

var errWork = errors.New("the template does too much work")

// budget is the remaining budget of one rendering. It is part of the budget of a run.
type budget struct {
	ctx  context.Context
	left int
	run  *Run
}

func (b *budget) spend(units int) error {
	if units > b.left {
		return errWork
	}
	b.left -= units
	return b.run.spend(units)
}

// tick spends the cost of one iteration, and fails when the context has ended.
func (b *budget) tick() (string, error) {
	if err := b.ended(); err != nil {
		return "", err
	}
	return "", b.spend(iterationWork)
}

// ended returns an error when the context has ended.
func (b *budget) ended() error {
	if err := b.ctx.Err(); err != nil {
		return fmt.Errorf("rendering ended: %w", err)
	}
	return nil
}

// print spends the cost of printing a value and returns its text.
func (b *budget) print(value any) (string, error) {
	if err := b.measure(reflect.ValueOf(value), 0); err != nil {
		return "", err
	}
	return printed(value), nil
}

// measure spends the cost of a value and of everything in it. A part that occurs several
// times counts each time, because it would be printed or copied each time.
func (b *budget) measure(value reflect.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("a value is nested more than %d levels deep", maxDepth)
	}
	switch value.Kind() {
	case reflect.String:
		if value.Len() > MaxOutput {
			return errors.New("a value is larger than 4 MiB")
		}
		return b.spend(1 + value.Len()/bytesPerUnit)
	case reflect.Interface, reflect.Pointer:
		if !value.IsNil() && value.Kind() == reflect.Interface {
			return b.measure(value.Elem(), depth)
		}
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return b.spend(1 + value.Len()/bytesPerUnit)
		}
		for i := range value.Len() {
			if err := b.measure(value.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			if err := b.measure(entries.Key(), depth+1); err != nil {
				return err
			}
			if err := b.measure(entries.Value(), depth+1); err != nil {
				return err
			}
		}
	}
	return b.spend(1)
}

var errorType = reflect.TypeFor[error]()

// signature is a function of the library. inner is the function itself, and outer is the
// type of the function that metered returns for it: the same arguments, the first result
// of inner, and an error.
type signature struct {
	inner         reflect.Value
	outer, result reflect.Type
}

// signatureOf returns the signature of a function of one or two results.
func signatureOf(function any) signature {
	inner := reflect.ValueOf(function)
	in := make([]reflect.Type, inner.Type().NumIn())
	for i := range in {
		in[i] = inner.Type().In(i)
	}
	result := inner.Type().Out(0)
	return signature{inner, reflect.FuncOf(in, []reflect.Type{result, errorType}, inner.Type().IsVariadic()), result}
}

// metered wraps a function so that each call spends the cost of its arguments and of its
// result. Each of the checks runs before the function. If one returns an error, or if the context
// has ended, the function is not called.
func (b *budget) metered(function signature, checks ...func(args []reflect.Value) error) any {
	refuse := func(err error) []reflect.Value {
		return []reflect.Value{reflect.Zero(function.result), reflect.ValueOf(&err).Elem()}
	}
	return reflect.MakeFunc(function.outer, func(args []reflect.Value) []reflect.Value {
		if err := b.ended(); err != nil {
			return refuse(err)
		}
		for _, arg := range args {
			if err := b.measure(arg, 0); err != nil {
				return refuse(err)
			}
		}
		for _, check := range checks {
			if check == nil {
				continue
			}
			if err := check(args); err != nil {
				return refuse(err)
			}
		}
		var results []reflect.Value
		if function.outer.IsVariadic() {
			results = function.inner.CallSlice(args)
		} else {
			results = function.inner.Call(args)
		}
		if len(results) == 2 && !results[1].IsNil() {
			return results
		}
		if err := b.measure(results[0], 0); err != nil {
			return refuse(err)
		}
		return []reflect.Value{results[0], reflect.Zero(errorType)}
	}).Interface()
}
