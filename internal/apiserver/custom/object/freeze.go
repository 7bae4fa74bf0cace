package object

import "fmt"

// Frozen is a content at one time. It finds code that changes a value in place, although copies of the object share the value.
type Frozen struct {
	content map[string]any
	text    string
}

// Freeze returns a content, to check it later. It does nothing unless CheckFrozen is set.
func Freeze(content map[string]any) Frozen {
	if !CheckFrozen {
		return Frozen{}
	}
	return Frozen{content: Share(content), text: fmt.Sprint(content)}
}

// Check stops with a panic if a value was changed in place.
func (f Frozen) Check() {
	if !CheckFrozen || f.content == nil {
		return
	}
	if now := fmt.Sprint(f.content); now != f.text {
		panic(fmt.Sprintf("a custom resource was changed in place: %.2000s, was %.2000s", now, f.text))
	}
}
