package render

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// banned lists the functions of sprig that templates cannot call: the seven functions that
// KUDO removes, and getHostByName, which uses the network.
var banned = []string{"env", "expandenv", "base", "dir", "clean", "ext", "isAbs", "getHostByName"}

// library returns the functions that a template may call. The map is built once and
// never changed.
var library = sync.OnceValue(func() map[string]signature {
	all := sprig.TxtFuncMap()
	for _, name := range banned {
		delete(all, name)
	}
	all["toYaml"] = toYaml
	// These replace the built-in functions of text/template that produce text, so that
	// they are metered too.
	all["print"], all["println"], all["printf"] = fmt.Sprint, fmt.Sprintln, fmt.Sprintf
	all["html"], all["js"], all["urlquery"] = template.HTMLEscaper, template.JSEscaper, template.URLQueryEscaper
	signatures := map[string]signature{}
	for name, function := range all {
		signatures[name] = signatureOf(function)
	}
	return signatures
})

// functions returns the metered functions that a template may call. Most templates call a few
// of the 200 functions, and making all of them would cost more than the rendering: only those
// whose name occurs in the source are made.
func functions(b *budget, source string) template.FuncMap {
	limits, charges := checks(), costs(b)
	used := template.FuncMap{tickFunction: b.tick, printFunction: b.print}
	for name, function := range library() {
		if strings.Contains(source, name) {
			used[name] = b.metered(function, limits[name], charges[name])
		}
	}
	return used
}

func toYaml(value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("toYaml: %w", err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// checks returns, by name, a check for each function with a result that can be far larger
// than its arguments.
func checks() map[string]func([]reflect.Value) error {
	all := map[string]func([]reflect.Value) error{
		"until": func(args []reflect.Value) error { return count("until", args[0].Int()) },
		"untilStep": func(args []reflect.Value) error {
			return steps("untilStep", args[0].Int(), args[1].Int(), args[2].Int())
		},
		"seq": func(args []reflect.Value) error {
			start, stop, step := seqNumbers(args[0])
			return steps("seq", start, stop, step)
		},
		"repeat": func(args []reflect.Value) error {
			if err := count("repeat", args[0].Int()); err != nil {
				return err
			}
			return size("repeat", int(args[0].Int()), args[1].Len())
		},
		"replace": func(args []reflect.Value) error {
			return size("replace", strings.Count(args[2].String(), args[0].String())+1, args[1].Len())
		},
		"join": func(args []reflect.Value) error { return size("join", items(args[1]), args[0].Len()) },
		"wrapWith": func(args []reflect.Value) error {
			return size("wrapWith", args[2].Len(), args[1].Len()+1)
		},
		"printf": func(args []reflect.Value) error { return printfSize(args[0].String(), args[1]) },
	}
	for _, name := range []string{"indent", "nindent"} {
		all[name] = func(args []reflect.Value) error {
			if args[0].Int() > maxCount {
				return count(name, args[0].Int())
			}
			return size(name, strings.Count(args[1].String(), "\n")+1, int(args[0].Int()))
		}
	}
	for _, name := range []string{"regexReplaceAll", "mustRegexReplaceAll", "regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"} {
		all[name] = func(args []reflect.Value) error { return size(name, args[1].Len()+1, args[2].Len()+1) }
	}
	for _, name := range []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes"} {
		all[name] = func(args []reflect.Value) error { return count(name, args[0].Int()) }
	}
	return all
}

// count refuses more than maxCount repetitions.
func count(function string, n int64) error {
	if n > maxCount || n < -maxCount {
		return fmt.Errorf("%s: %d is more than %d", function, n, maxCount)
	}
	return nil
}

// size refuses a result that has the given number of parts, each with a number of bytes,
// if it is larger than MaxOutput.
func size(function string, times, each int) error {
	if times > 0 && each > MaxOutput/times {
		return fmt.Errorf("%s: the result would be larger than 4 MiB", function)
	}
	return nil
}

// steps refuses a sequence of more than maxCount numbers.
func steps(function string, start, stop, step int64) error {
	if step == 0 {
		return nil
	}
	// Very large numbers are refused first, so that stop-start cannot overflow.
	const far = 1 << 40
	if max(start, stop) > far || min(start, stop) < -far || max(step, -step) > far {
		return fmt.Errorf("%s: numbers from %d to %d are out of range", function, start, stop)
	}
	return count(function, (stop-start)/step)
}

// seqNumbers returns the sequence of sprig's seq, which takes the arguments of the shell command: last,
// or first and last, or first, step and last. The step is 0 if seq returns an empty text.
func seqNumbers(numbers reflect.Value) (start, stop, step int64) {
	switch numbers.Len() {
	case 1:
		return 1, numbers.Index(0).Int(), 1
	case 2:
		return numbers.Index(0).Int(), numbers.Index(1).Int(), 1
	case 3:
		return numbers.Index(0).Int(), numbers.Index(2).Int(), numbers.Index(1).Int()
	}
	return 0, 0, 0
}

// items returns the number of items that join would print.
func items(value reflect.Value) int {
	for value.Kind() == reflect.Interface && !value.IsNil() {
		value = value.Elem()
	}
	switch value.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return value.Len()
	}
	return 1
}

// printfSize refuses a printf if its result could exceed MaxOutput. It assumes that each
// verb prints the longest argument, and adds up the widths in the format.
func printfSize(format string, args reflect.Value) error {
	longest, width, number := 0, 0, 0
	for i := range args.Len() {
		longest = max(longest, len(printed(args.Index(i).Interface())))
	}
	for _, char := range format {
		switch {
		case char >= '0' && char <= '9':
			number = min(number*10+int(char-'0'), MaxOutput)
			continue
		case char == '*':
			// The largest width that package fmt accepts from an argument.
			number = 1_000_000
		}
		width, number = min(width+number, 2*MaxOutput), 0
	}
	if width+number > MaxOutput {
		return fmt.Errorf("printf: the result would be larger than 4 MiB")
	}
	return size("printf", strings.Count(format, "%"), longest)
}
