package render

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// What a template may use up. A large real one needs some ten thousand units.
const (
	maxWork = 10_000_000
	// turnWork is a turn of a loop or a call of a template.
	turnWork = 100
	// cryptoWork is a call of a function that makes keys or slow hashes.
	cryptoWork = maxWork / 10
	// bytesPerUnit is how much text is one unit of work.
	bytesPerUnit = 64
	// maxCount is how often a function may repeat something.
	maxCount = 10_000
	// maxDepth is how deeply lists and objects may be nested: further than any
	// manifest, and an end for those that contain themselves.
	maxDepth = 100
)

var errWork = errors.New("the template does too much work")

// budget is what one template has left.
type budget struct {
	ctx  context.Context
	left int
}

func (b *budget) spend(units int) error {
	b.left -= units
	if b.left < 0 {
		return errWork
	}
	return nil
}

// tick pays for a turn.
func (b *budget) tick() (string, error) {
	if err := b.ctx.Err(); err != nil {
		return "", fmt.Errorf("rendering ended: %w", err)
	}
	return "", b.spend(turnWork)
}

// print pays for what is printed.
func (b *budget) print(value any) (string, error) {
	if err := b.measure(reflect.ValueOf(value), 0); err != nil {
		return "", err
	}
	return printed(value), nil
}

// measure pays for a value, walking all of it: what is shared counts each time
// it would be printed or copied.
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

// signature is a function and the type it has when metered.
type signature struct {
	inner         reflect.Value
	outer, result reflect.Type
}

func signatureOf(function any) signature {
	inner := reflect.ValueOf(function)
	in := make([]reflect.Type, inner.Type().NumIn())
	for i := range in {
		in[i] = inner.Type().In(i)
	}
	result := inner.Type().Out(0)
	return signature{inner, reflect.FuncOf(in, []reflect.Type{result, errorType}, inner.Type().IsVariadic()), result}
}

// metered is a function that pays for its arguments and its result, and is not
// called where a check says that the result would be too much.
func (b *budget) metered(function signature, check func(args []reflect.Value) error) any {
	refuse := func(err error) []reflect.Value {
		return []reflect.Value{reflect.Zero(function.result), reflect.ValueOf(&err).Elem()}
	}
	return reflect.MakeFunc(function.outer, func(args []reflect.Value) []reflect.Value {
		for _, arg := range args {
			if err := b.measure(arg, 0); err != nil {
				return refuse(err)
			}
		}
		if check != nil {
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
