package render

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// runWork is the budget of all templates of one attempt to run a plan. It is about 20 seconds
	// of one processor.
	runWork = 200_000_000
	// maxKept is the number of bytes of output that a run keeps.
	maxKept = 256 << 10
)

var errRunWork = errors.New("the templates of the plan do too much work")

// Run renders the templates of one run of a plan, within one budget. The zero Run can be used. It
// must not be used concurrently.
//
// A Run renders a template with a slow function once for the same values and keeps the output. A plan
// that waits renders its templates again and again, and would generate other keys each time.
type Run struct {
	spent int
	kept  map[[sha256.Size]byte]string
	// size is the number of bytes in kept.
	size int
}

// Begin begins another attempt to run the plan, with a new budget. The output that the run keeps
// costs nothing.
func (r *Run) Begin() { r.spent = 0 }

// Template renders one template. The error names the template and the line.
func (r *Run) Template(ctx context.Context, name, source string, values Values) (string, error) {
	if !isSlow(source) {
		return r.render(ctx, name, source, values)
	}
	key, err := keyOf(source, values)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if text, found := r.kept[key]; found {
		return text, nil
	}
	text, err := r.render(ctx, name, source, values)
	if err != nil {
		return "", err
	}
	if r.size += len(text); r.size > maxKept {
		return "", fmt.Errorf("%s: the templates of the plan that call functions such as genCA have more than %d KiB of output", name, maxKept>>10)
	}
	if r.kept == nil {
		r.kept = map[[sha256.Size]byte]string{}
	}
	r.kept[key] = text
	return text, nil
}

// render renders one template, whatever the run keeps.
func (r *Run) render(ctx context.Context, name, source string, values Values) (string, error) {
	b := &budget{ctx: ctx, left: maxWork, run: r}
	parsed, err := parseWith(name, source, b)
	if err != nil {
		return "", err
	}
	for _, part := range parsed.Templates() {
		meter(part.Tree)
	}
	out := &limitedWriter{}
	// The data is copied because a template can change it with sprig's set.
	err = parsed.Execute(out, deepCopy(values.data()))
	if err != nil {
		return "", readable(name, err)
	}
	return out.String(), nil
}

// spend spends units of the budget of the attempt.
func (r *Run) spend(units int) error {
	if units > runWork-r.spent {
		r.spent = runWork
		return errRunWork
	}
	r.spent += units
	return nil
}

// isSlow reports whether a template may call a slow function.
func isSlow(source string) bool {
	return slices.ContainsFunc(slowNames(), func(name string) bool { return strings.Contains(source, name) })
}

// keyOf returns a key for a template and its values.
func keyOf(source string, values Values) ([sha256.Size]byte, error) {
	text, err := json.Marshal([]any{source, values})
	return sha256.Sum256(text), err
}
