package ownership

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Write is one write, as it is about to be stored.
type Write struct {
	// Type is the kind's; nil is a kind about which nothing is known.
	Type *Type
	// Live is the object as stored, New as it will be. Managed fields may be
	// left out of them.
	Live, New map[string]any
	// LiveManagers and NewManagers are their managed fields.
	LiveManagers, NewManagers []metav1.ManagedFieldsEntry
	Writer                    Writer
}

// Verdict is what there is to say about a write. The zero Verdict says nothing.
type Verdict struct {
	// Resource names the object: apps/Deployment/web.
	Resource string
	Writer   Writer
	Findings []Finding
	// Note says what could not be checked, and why.
	Note string
	// Replaced says that the last-applied configuration follows the
	// replacement; it is set by whoever did that.
	Replaced bool

	redacted bool
	managers *managers
}

// Judge finds what a write does to fields of others. The cache may be nil.
func Judge(w Write, cache *Cache) Verdict {
	v := Verdict{Resource: resource(w.Live), Writer: w.Writer}
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
	v.redacted, v.managers = w.Type.Redacted, managers
	j := judgement{Write: w, Verdict: &v, uid: metadata(w.Live, "uid"), cache: cache}
	if text != "" {
		j.config = cache.of(w.Type, j.uid, text)
		v.Note = j.config.note
	}
	j.run()
	if v.Note != "" && !changes(w.Type.Applied.root, judged(w.Live), judged(w.New)) {
		// Such as the write that mends the annotation.
		v.Note = ""
	}
	sortFindings(v.Findings)
	return v
}

// judgement is one write being judged.
type judgement struct {
	Write
	*Verdict
	uid   string
	cache *Cache
	// config is the last-applied configuration of the live object, nil if it
	// has none.
	config *configuration
}

func (j *judgement) run() {
	switch act := j.act(); act {
	case Apply:
		j.judgeApply()
	case ServerSideApply:
		if j.Write.Writer.Force {
			j.judgeForced()
		}
	case Replace:
		// The annotation follows the replacement; see Replacement.
		if j.config == nil {
			j.judgeImperative()
		}
	default:
		j.judgeImperative()
	}
}

// act is what the write counts as: without a command, one that keeps
// last-applied in step with what it writes is an apply.
func (j *judgement) act() Act {
	w := j.Write.Writer
	if w.Act != Imperative || w.Exact {
		return w.Act
	}
	text := lastApplied(j.New)
	if text == "" || text == lastApplied(j.Live) {
		return w.Act
	}
	config := j.Type.parse(text)
	if config.values == nil || !j.Type.Applied.root.contains(j.New, config.values) {
		return w.Act
	}
	return Apply
}

// judgeImperative looks at what apply owns.
func (j *judgement) judgeImperative() {
	if j.config != nil && j.config.values != nil {
		w := walk{found: func(f Finding) { j.Findings = append(j.Findings, f) }}
		w.owned(j.config.plan(), j.Live, j.New)
	}
	if j.managers.hasApply() {
		j.judgeManaged()
	}
}

// resource names an object as findings do.
func resource(obj map[string]any) string {
	version, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	text := kind + "/" + metadata(obj, "name")
	if group, _, ok := strings.Cut(version, "/"); ok {
		text = group + "/" + text
	}
	return printable(text)
}
