package referrers

import (
	"bytes"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/references"
)

// definitionsResource is the resource of CustomResourceDefinitions.
var definitionsResource = schema.GroupResource{Group: definition.Kind.Group, Resource: "customresourcedefinitions"}

// kind is a kind whose objects may refer to ConfigMaps and Secrets.
type kind struct {
	resource schema.GroupResource
	// find finds the references in JSON.
	find ruleSet

	// custom says that the objects are custom resources, which have a definition.
	custom bool
	declaration
	// gvk and typed are of a built-in kind. typed finds the references in its Go type.
	gvk   schema.GroupVersionKind
	typed *references.Typed

	// objects are the objects with their references, by namespace and name. Those of a custom resource are all there, and those of a
	// built-in kind only if they have references.
	objects map[string]map[string][]key
	// patterns are the references with placeholders.
	patterns map[names][]references.Reference
	state
}

// ruleSet are rules that are all applied to an object.
type ruleSet []*references.Rules

// errNotJSON is the error of a custom resource in another form, such as one that was decrypted with a wrong key.
var errNotJSON = errors.New("it is not stored as JSON")

// visit calls a function for each reference of an object that is encoded as JSON.
func (s ruleSet) visit(text []byte, visit references.Visit) error {
	if !bytes.HasPrefix(text, []byte("{")) {
		return errNotJSON
	}
	for _, rules := range s {
		if err := rules.Visit(text, visit); err != nil {
			return err
		}
	}
	return nil
}

// isEverything reports whether every string counts, and nothing else.
func (s ruleSet) isEverything() bool { return len(s) == 1 && s[0].IsEverything() }

// places returns the references of a decoded object, with their places.
func (s ruleSet) places(object map[string]any) []references.Reference {
	var all []references.Reference
	for _, rules := range s {
		all = append(all, rules.Find(object)...)
	}
	return all
}

// builtInKinds returns the built-in kinds that have rules.
func builtInKinds() map[schema.GroupResource]*kind {
	kinds := map[schema.GroupResource]*kind{}
	add := func(resource schema.GroupResource, k kind, object runtime.Object) {
		rules, ok := references.BuiltIn(resource)
		if !ok {
			return
		}
		typed, err := rules.Typed(object)
		if err != nil {
			panic("referrers: " + err.Error()) // the rules are constant
		}
		k.resource, k.find, k.typed, k.objects = resource, ruleSet{rules}, typed, map[string]map[string][]key{}
		kinds[resource] = &k
	}
	for _, n := range native.Kinds() {
		add(n.GroupResource(), kind{gvk: n.GroupVersionKind(), declaration: declaration{namespaced: n.Scope == native.Namespaced}}, n.Object)
	}
	add(definitionsResource, kind{gvk: definition.Kind}, &definition.CustomResourceDefinition{})
	return kinds
}

// keep sets the references of an object. The caller holds the lock.
func (k *kind) keep(x *Index, object names, keys []key) {
	in, more := k.objects[object.namespace]
	if !more {
		in = map[string][]key{}
		k.objects[object.namespace] = in
	}
	// A slice of the exact size takes less memory.
	in[object.name] = append(make([]key, 0, len(keys)), keys...)
	if !more {
		k.namespaceChanged(x)
	}
}

// drop removes an object. The caller holds the lock.
func (k *kind) drop(x *Index, object names) {
	in := k.objects[object.namespace]
	delete(in, object.name)
	if len(in) == 0 {
		delete(k.objects, object.namespace)
		k.namespaceChanged(x)
	}
}

// namespaceChanged is called when the kind gets the first object in a namespace, or loses the last one.
func (k *kind) namespaceChanged(x *Index) {
	if k.unserved {
		x.notify(event{})
	}
}

// setPatterns replaces the references with placeholders of an object. The caller holds the lock.
func (k *kind) setPatterns(x *Index, object names, patterns []references.Reference) {
	if len(patterns) == 0 && len(k.patterns[object]) == 0 || slices.Equal(patterns, k.patterns[object]) {
		return
	}
	if k.patterns == nil {
		k.patterns = map[names][]references.Reference{}
	}
	delete(k.patterns, object)
	if len(patterns) > 0 {
		k.patterns[object] = patterns
	}
	delete(x.patterned, k)
	if len(k.patterns) > 0 {
		x.patterned[k] = struct{}{}
	}
	x.judgeAll("")
}
