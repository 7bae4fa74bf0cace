package render

import (
	"maps"
	"math"
	"reflect"
	"regexp/syntax"
	"slices"
	"sync"
)

// millisecond is the work of about a millisecond of one processor.
const millisecond = runWork / 20_000

// slow has the work of the functions that are slow because of what they compute. One call may cost more than
// the budget of a template, so these functions spend from the budget of the run only.
var slow = map[string]int{
	// A key of RSA has 4096 bits here, and 2048 bits in a certificate.
	"genPrivateKey": 3000 * millisecond,
	"genCA":         300 * millisecond, "genSelfSignedCert": 300 * millisecond, "genSignedCert": 300 * millisecond,
	"genCAWithKey": 20 * millisecond, "genSelfSignedCertWithKey": 20 * millisecond, "genSignedCertWithKey": 20 * millisecond,
	"buildCustomCert": millisecond, "bcrypt": 100 * millisecond, "htpasswd": 100 * millisecond, "derivePassword": 400 * millisecond,
}

// keyWork is the work of genPrivateKey for the types that are not RSA.
var keyWork = map[string]int{"dsa": 2000 * millisecond, "ecdsa": millisecond, "ed25519": millisecond}

// slowNames returns the names of the slow functions.
var slowNames = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(slow)) })

const (
	// numberWork is the cost of a number that until and its like return.
	numberWork = 4
	// randomWork is the cost of a random character.
	randomWork = 20
	// yamlWork is the cost of each unit of a value that toYaml encodes.
	yamlWork = 30
	// zoneWork is the cost of reading a time zone.
	zoneWork = 1000
	// regexpShare is the number of steps of a regular expression that cost one unit. A step is one
	// instruction for one byte.
	regexpShare = 4
	// compileWork is the cost of compiling one instruction of a regular expression.
	compileWork = 8
)

// costs returns, by name, a check for each function that costs more than its arguments and its
// result. The check spends the difference, before the function is called.
func costs(b *budget) map[string]func([]reflect.Value) error {
	all := map[string]func([]reflect.Value) error{
		"toYaml": func(args []reflect.Value) error {
			before := b.left
			if err := b.measure(args[0], 0); err != nil {
				return err
			}
			return b.spendProduct(before-b.left, yamlWork)
		},
		// A product of n numbers has up to n times as many digits.
		"mulf": func(args []reflect.Value) error { return b.spendProduct(items(args[1]), items(args[1])) },
	}
	for _, name := range []string{"until", "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes"} {
		each := randomWork
		if name == "until" {
			each = numberWork
		}
		all[name] = func(args []reflect.Value) error { return b.spendProduct(distance(args[0].Int(), 0), each) }
	}
	all["untilStep"] = func(args []reflect.Value) error { return b.spendNumbers(args[0].Int(), args[1].Int(), args[2].Int()) }
	all["seq"] = func(args []reflect.Value) error { return b.spendNumbers(seqNumbers(args[0])) }
	for name, units := range slow {
		all[name] = func([]reflect.Value) error { return b.spendSlow(units) }
	}
	all["genPrivateKey"] = func(args []reflect.Value) error {
		if units, found := keyWork[args[0].String()]; found {
			return b.spendSlow(units)
		}
		return b.spendSlow(slow["genPrivateKey"])
	}
	// These compare each item with each other one.
	for _, name := range []string{"uniq", "mustUniq"} {
		all[name] = func(args []reflect.Value) error { return b.spendProduct(items(args[0]), items(args[0])) }
	}
	for _, name := range []string{"without", "mustWithout"} {
		all[name] = func(args []reflect.Value) error { return b.spendProduct(items(args[0]), items(args[1])) }
	}
	// These compare each character of a text with each of a set.
	for _, name := range []string{"trimAll", "trimall"} {
		all[name] = func(args []reflect.Value) error {
			return b.spendProduct(args[0].Len()/bytesPerUnit+1, args[1].Len())
		}
	}
	for _, name := range []string{"dateInZone", "date_in_zone", "htmlDateInZone"} {
		all[name] = func([]reflect.Value) error { return b.spend(zoneWork) }
	}
	for _, name := range []string{"Match", "FindAll", "Find", "ReplaceAll", "ReplaceAllLiteral", "Split"} {
		search := func(args []reflect.Value) error { return b.spendSearch(args[0].String(), args[1].Len()) }
		all["regex"+name], all["mustRegex"+name] = search, search
	}
	return all
}

// spendSlow spends units of the budget of the run only.
func (b *budget) spendSlow(units int) error { return b.run.spend(units) }

// spendProduct spends the product of two numbers that are not negative.
func (b *budget) spendProduct(x, y int) error {
	if y > 0 && x > math.MaxInt/y {
		return errWork
	}
	return b.spend(x * y)
}

// spendNumbers spends the cost of a sequence of numbers. They are not too far apart: see steps.
func (b *budget) spendNumbers(start, stop, step int64) error {
	if step == 0 {
		return nil
	}
	return b.spendProduct(distance(start, stop)/distance(step, 0)+1, numberWork)
}

func distance(x, y int64) int { return int(max(x-y, y-x)) }

// spendSearch spends the cost of searching a text for a regular expression. An expression that is wrong
// costs nothing more: the function reports the error.
func (b *budget) spendSearch(expression string, length int) error {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil //nolint:nilerr // the function itself reports the error
	}
	return b.spendProduct(instructions(parsed), length/regexpShare+compileWork)
}

// instructions returns about how many instructions an expression is compiled to.
func instructions(expression *syntax.Regexp) int {
	count := 1 + len(expression.Rune)
	for _, part := range expression.Sub {
		count += instructions(part)
	}
	if expression.Op == syntax.OpRepeat {
		count *= max(expression.Min, expression.Max, 1)
	}
	return count
}
