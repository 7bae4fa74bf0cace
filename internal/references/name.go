package references

import "strings"

// maxName is how long the name of an object is at most.
const maxName = 253

// MayBeName reports whether a text may be the name of a ConfigMap or a Secret: it has only lower-case letters, digits, dots and hyphens.
func MayBeName(text string) bool { return mayBeName(text) }

func mayBeName[text string | []byte](t text) bool {
	if len(t) == 0 || len(t) > maxName {
		return false
	}
	for i := range len(t) {
		if c := t[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// mayRefer reports whether an object can have a namespace and a name, which may have placeholders. The namespace is empty for that of the
// referring object.
func mayRefer(namespace, name string) bool {
	return (MayBeName(name) || isPattern(name)) && (namespace == "" || MayBeName(namespace) || isPattern(namespace))
}

// split returns the namespace and the name in the value of a rule. Only a rule of the form qualified has a namespace there.
func (e end) split(text string) (namespace, name string) {
	if before, after, found := strings.Cut(text, "/"); found && e.form == qualified && before != "" {
		return before, after
	}
	return "", text
}

// placeholder begins a part of a name that is known later, and placeholderEnd ends it.
const placeholder, placeholderEnd = "${", "}"

func isPattern(text string) bool { return strings.Contains(text, placeholder) }

// IsPattern reports whether the name or the namespace has a placeholder.
func (r Reference) IsPattern() bool { return isPattern(r.Name) || isPattern(r.Namespace) }

// Matches reports whether a reference may be one to the object with a namespace and a name. A placeholder stands for any text.
func (r Reference) Matches(namespace, name string) bool {
	return matches(r.Namespace, namespace) && matches(r.Name, name)
}

// matches reports whether a text fits to one with placeholders. The first place of each part between two placeholders is as good as any later
// one, so it does not try several.
func matches(pattern, text string) bool {
	part, rest, found := strings.Cut(pattern, placeholder)
	if !found {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, part)
	for ok {
		if _, rest, found = strings.Cut(rest, placeholderEnd); !found {
			return true // a placeholder without an end is the rest of the text
		}
		if part, rest, found = strings.Cut(rest, placeholder); !found {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
	}
	return false
}
