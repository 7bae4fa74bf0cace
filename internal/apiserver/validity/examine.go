package validity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/verdict"
)

var (
	// errMore says that there are more objects than a caller wants to read.
	errMore = errors.New("there are more objects")
	// errChanged says that the definition has changed, so that the result would be outdated.
	errChanged = errors.New("the definition has changed")
)

// examine reads the stored objects of a definition and judges them. It reads at most the given number, zero means all.
func (c *Controller) examine(ctx context.Context, crd *definition.CustomResourceDefinition, most int) (*tally, error) {
	found := &tally{causes: map[verdict.Cause]int{}}
	var judge *verdict.Judge
	p := pace{began: time.Now()}
	resource := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	_, err := c.Objects.Scan(ctx, resource, 0, func(stored storage.Stored) (err error) {
		if most > 0 && found.objects == most {
			return errMore
		}
		// Most definitions without the condition have no objects, so that none of them is compiled.
		if judge == nil {
			if judge, err = c.judgeOf(crd); err != nil {
				return err
			}
		}
		if err := found.add(ctx, judge, stored.Text); err != nil {
			return fmt.Errorf("%s: %w", stored.FullName(), err)
		}
		if !p.rests() {
			return nil
		}
		if observed := c.observed(crd.Name); observed == nil || !judgesAlike(observed, crd) {
			return errChanged
		}
		return p.rest(ctx)
	})
	if err != nil {
		return found, fmt.Errorf("read the objects of %s: %w", crd.Name, err)
	}
	return found, nil
}

// judgeOf returns the judge of a definition. The server that has just stored the first object of a definition has compiled it.
func (c *Controller) judgeOf(crd *definition.CustomResourceDefinition) (*verdict.Judge, error) {
	if c.Compiled != nil {
		if versions := c.Compiled(crd); versions != nil {
			return verdict.New(crd, versions), nil
		}
	}
	return verdict.Compile(crd)
}

// add judges one object.
func (t *tally) add(ctx context.Context, judge *verdict.Judge, text []byte) error {
	var object map[string]any
	if err := utiljson.Unmarshal(text, &object); err != nil {
		return err
	}
	refusals := judge.Judge(ctx, object)
	if err := ctx.Err(); err != nil {
		return err // the refusals may be those of rules that were interrupted
	}
	t.objects++
	if len(refusals) == 0 {
		return nil
	}
	t.invalid++
	// An object counts once for a cause, even if ten of its fields have it.
	causes := map[verdict.Cause]bool{}
	for _, refusal := range refusals {
		causes[judge.Cause(refusal)] = true
	}
	for cause := range causes {
		t.causes[cause]++
	}
	return nil
}

// slice is how long a scan works before it rests.
const slice = 10 * time.Millisecond

// pace makes a scan rest for as long as it worked, so that it uses at most half of one processor, and etcd and the requests of clients
// have the rest.
type pace struct{ began time.Time }

// rests reports whether it is time to rest.
func (p *pace) rests() bool { return time.Since(p.began) >= slice }

// rest waits as long as the scan has worked since the last rest. It returns an error if ctx ends.
func (p *pace) rest(ctx context.Context) error {
	timer := time.NewTimer(time.Since(p.began))
	defer timer.Stop()
	select {
	case <-timer.C:
		p.began = time.Now()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
