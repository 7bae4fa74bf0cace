package ownership

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/value"
)

// Write is one write that the server is about to store.
type Write struct {
	// Type is the type of the kind, nil if the kind is not known.
	Type *Type
	// Live is the stored object, New the object after the write. Both may be without
	// managed fields.
	Live, New map[string]any
	// Partial means that Live and New lack fields that are equal in both. Then no
	// defaults are set in them, because a default may depend on such a field: a value
	// that is the default in place of the applied one is a finding.
	Partial bool
	// LiveManagers and NewManagers are the managed fields of Live and New.
	LiveManagers, NewManagers []metav1.ManagedFieldsEntry
	Writer                    Writer
}

// Verdict is the result of judging a write. The zero Verdict has no findings.
type Verdict struct {
	// Resource names the object: apps/Deployment/web -n shop. Each line has it, because kubectl prints equal lines once.
	Resource string
	Writer   Writer
	Findings []Finding
	// Note says what could not be checked, and why. It is empty if all was checked.
	Note string
	// Replaced means that the last-applied configuration was set to the
	// replacement. The caller that did that sets it.
	Replaced bool
	// Lost means that a replacement has no last-applied configuration, although the object had one. A caller that keeps the configuration
	// clears it.
	Lost bool

	// target names the object for holdfast transfer. fixed means that transfer cannot
	// rewrite the configuration, because it is in another version.
	target   string
	fixed    bool
	redacted bool
	// hidden means that the texts show nothing of the stored object but paths.
	hidden bool
	// quotes means that Note quotes the last-applied configuration.
	quotes   bool
	managers *managers
}

// Judge finds the fields of other owners that a write changes. The cache may be
// nil.
func Judge(w Write, cache *Cache) Verdict {
	v := Verdict{Resource: Resource(w.Live), Writer: w.Writer}
	if w.Writer.Act == Controller || annotation(w.Live, Ignore) == Ignored {
		return v
	}
	text := lastApplied(w.Live)
	managers := newManagers(w.LiveManagers)
	if text == "" && lastApplied(w.New) == "" && !managers.hasApply() && w.Writer.Act != ServerSideApply {
		return v
	}
	if w.Type == nil {
		v.Note = "the kind is not known"
		return v
	}
	managers.view = w.Type.Managed.root
	v.redacted, v.managers, v.target = w.Type.Redacted, managers, target(w.Type, w.Live)
	j := judgement{Write: w, Verdict: &v, mode: w.Type.mode(), uid: metadata(w.Live, "uid"), cache: cache}
	if text != "" {
		j.config = cache.of(w.Type, j.uid, text)
		v.fixed = !w.Type.BuiltIn && w.Type.Canonical != nil && j.config.version != w.Live["apiVersion"]
		v.Note, v.quotes = j.config.note, j.config.note != ""
	}
	j.run()
	j.dropShared()
	if v.Note != "" && EqualJudged(w.Type, w.Live, w.New) {
		// The write changes no field, so nothing was left unchecked.
		v.Note = ""
	}
	sortFindings(v.Findings)
	return v
}

// judgement is the judgement of one write.
type judgement struct {
	Write
	*Verdict
	mode  value.Mode
	uid   string
	cache *Cache
	// config is the last-applied configuration of the live object, nil if it
	// has none.
	config *configuration
	// defaults is how often the defaults of an object were set.
	defaults int
}

func (j *judgement) run() {
	switch act := j.act(); act {
	case Apply:
		j.judgeApply()
	case ServerSideApply:
		if !j.Write.Writer.IsSilent() {
			j.judgeForced()
		}
	case Replace:
		// A replace also replaces the last-applied annotation, so fields in that
		// configuration are not reported; see Replacement.
		if j.config == nil {
			j.judgeImperative()
		}
		j.Lost = lastApplied(j.Live) != "" && lastApplied(j.New) == ""
	default:
		j.judgeImperative()
	}
}

// act returns the kind of the write. A write without a known command counts as an
// apply if it sets the last-applied configuration to values that it writes.
func (j *judgement) act() Act {
	w := j.Write.Writer
	if w.Act != Imperative || w.Exact {
		return w.Act
	}
	text := lastApplied(j.New)
	if text == "" || text == lastApplied(j.Live) {
		return w.Act
	}
	config := j.configuration(text)
	if config.values == nil || !config.plan().isWrittenIn(j.New) {
		return w.Act
	}
	return Apply
}

// configuration returns the configuration with a text. It replaces that of the live object
// in the cache: if the write is stored, the next one needs it.
func (j *judgement) configuration(text string) *configuration {
	if j.config != nil && text == lastApplied(j.Live) {
		return j.config
	}
	return j.cache.of(j.Type, j.uid, text)
}

// judgeImperative finds changed fields that apply owns.
func (j *judgement) judgeImperative() {
	if j.config != nil && j.config.values != nil {
		w := walk{judgement: j}
		w.owned(j.config.plan(), j.Live, j.New)
	}
	if j.managers.hasApply() {
		j.judgeManaged()
	}
}

// Resource returns the name of an object in messages.
func Resource(obj map[string]any) string {
	version, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	group, _, found := strings.Cut(version, "/")
	if !found {
		group = ""
	}
	return ResourceOf(group, kind, metadata(obj, "namespace"), metadata(obj, "name"))
}

// ResourceOf is Resource for an object that is not decoded.
func ResourceOf(group, kind, namespace, name string) string {
	text := kind + "/" + name
	if group != "" {
		text = group + "/" + text
	}
	return inNamespace(printableTo(maxName, text), namespace)
}

// inNamespace adds the namespace of an object to its name. The name is cut before, so that the namespace is never lost.
func inNamespace(name, namespace string) string {
	if namespace == "" {
		return name
	}
	return name + " -n " + printable(namespace)
}

// maxName is how many runes of a kind and a name are repeated in a line. A name has 253 runes at most.
const maxName = 320

// target names an object as the arguments of kubectl do: deployment.apps/web -n shop. The
// singular name of a custom resource may be another one than its kind in lower case, so that
// it is named by its kind. The result is empty if the name is too long for a line: a command with a
// part of it would be about no object, or about another one.
func target(t *Type, obj map[string]any) string {
	version, _ := obj["apiVersion"].(string)
	text, _ := obj["kind"].(string)
	if t.BuiltIn {
		text = strings.ToLower(text)
	}
	if group, _, ok := strings.Cut(version, "/"); ok {
		text += "." + group
	}
	text += "/" + metadata(obj, "name")
	if printableTo(maxName, text) != text {
		return ""
	}
	if !plainArgument.MatchString(text) {
		text = quoted(text)
	}
	return inNamespace(text, metadata(obj, "namespace"))
}

// plainArgument matches the names that a shell does not change.
var plainArgument = regexp.MustCompile(`^[a-zA-Z0-9./:_-]+$`)
