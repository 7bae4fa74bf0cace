package custom

import "fmt"

// frozenContent is the content of an object at one time. It finds code that changes a value of
// the object in place, although copies of the object share the value.
type frozenContent struct {
	content map[string]any
	text    string
}

// freeze returns the content of an object, to check it later. It does nothing unless
// checkFrozen is set.
func freeze(content map[string]any) frozenContent {
	if !checkFrozen {
		return frozenContent{}
	}
	return frozenContent{content: share(content), text: fmt.Sprint(content)}
}

// check stops with a panic if a value was changed in place.
func (f frozenContent) check() {
	if !checkFrozen || f.content == nil {
		return
	}
	if now := fmt.Sprint(f.content); now != f.text {
		panic(fmt.Sprintf("a custom resource was changed in place: %.2000s, was %.2000s", now, f.text))
	}
}
