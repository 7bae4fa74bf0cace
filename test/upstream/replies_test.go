package upstream_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// compareReplies returns the differences between the answers of both servers. The objects before the write say whether the write
// changed them.
func compareReplies(replies [2]reply, old [2]manifest) []difference {
	our, their := replies[0], replies[1]
	var found []difference
	add := func(aspect, path, our, their string) {
		found = append(found, difference{Aspect: aspect, Path: brackets.ReplaceAllString(path, "[]"), Ours: our, Theirs: their})
	}
	if our.code != their.code && our.accepted() == their.accepted() {
		add("code", "", fmt.Sprint(our.code), fmt.Sprint(their.code))
	}
	if !our.accepted() || !their.accepted() {
		compareRefusals(our, their, add)
		return found
	}
	compareJSON(content(our.body), content(their.body), func(path, our, their string) { add("stored", path, our, their) })
	compareJSON(owners(our.body), owners(their.body), func(path, our, their string) { add("owners", path, our, their) })
	compareTexts(our.warnings, their.warnings, func(our, their string) {
		add("warning", warningPath(our+their), our, their)
	})
	if ours, theirs := isChanged(our.body, old[0]), isChanged(their.body, old[1]); ours != theirs {
		add("resourceVersion", "", fmt.Sprint("changed ", ours), fmt.Sprint("changed ", theirs))
	}
	return found
}

// compareRefusals compares the answers to a write that at least one server refuses.
func compareRefusals(our, their reply, add func(aspect, path, our, their string)) {
	ours, theirs := causesOf(our), causesOf(their)
	if len(ours) == 0 && len(theirs) == 0 {
		if ours, theirs := message(our), message(their); ours != theirs {
			add("message", "", ours, theirs)
		}
		return
	}
	compareErrors(ours, theirs, func(aspect, path, ours, theirs string) {
		switch {
		case our.accepted():
			aspect = "accepted"
		case their.accepted():
			aspect = "refused"
		}
		add(aspect, path, ours, theirs)
	})
}

func causesOf(r reply) []cause {
	details, _ := r.body["details"].(map[string]any)
	list, _ := details["causes"].([]any)
	causes := make([]cause, 0, len(list))
	for _, item := range list {
		item, _ := item.(map[string]any)
		field, _ := item["field"].(string)
		reason, _ := item["reason"].(string)
		text, _ := item["message"].(string)
		causes = append(causes, cause{Field: field, Type: reason, Detail: string(uid.ReplaceAll([]byte(withoutValue(reason, text)), []byte("uid")))})
	}
	return causes
}

// noValue are the reasons of causes whose text has no value.
var noValue = []string{"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooMany", "InternalError"}

// withoutValue returns the text of a cause without its kind and without the refused value: Kubernetes prints values of types that
// only it has.
func withoutValue(reason, text string) string {
	_, text, found := strings.Cut(text, ": ")
	if !found {
		return ""
	}
	if slices.Contains(noValue, reason) {
		return text
	}
	rest := text
	switch {
	case strings.HasPrefix(text, `"`):
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			rest = text[len(quoted):]
		}
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		decoder := json.NewDecoder(strings.NewReader(text))
		var value json.RawMessage
		if decoder.Decode(&value) == nil {
			rest = text[decoder.InputOffset():]
		}
	default:
		if _, after, found := strings.Cut(text, ": "); found {
			return after
		}
	}
	return strings.TrimPrefix(rest, ": ")
}

func message(r reply) string {
	if r.accepted() {
		return "accepted"
	}
	text, _ := r.body["message"].(string)
	return fmt.Sprintf("%d %s", r.code, text)
}

// serverSets are the fields of metadata that the server sets to values of its own.
var serverSets = []string{"uid", "creationTimestamp", "resourceVersion", "managedFields", "deletionTimestamp"}

// withoutServerSet returns a copy of an object without these fields.
func withoutServerSet(object manifest) manifest {
	object = clone(object)
	if meta, ok := object["metadata"].(map[string]any); ok {
		for _, field := range serverSets {
			delete(meta, field)
		}
	}
	return object
}

// content returns an object without what each server sets to values of its own.
func content(object manifest) json.RawMessage {
	object = withoutServerSet(object)
	if object["kind"] == "Service" {
		hideAllocated(object)
	}
	text, _ := json.Marshal(object)
	return uid.ReplaceAll(text, []byte("uid"))
}

// uid matches the UIDs of objects, which other fields repeat.
var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// hideAllocated replaces the addresses and ports of a Service that may have been allocated.
func hideAllocated(service manifest) {
	spec, _ := service["spec"].(map[string]any)
	if list, ok := spec["clusterIPs"].([]any); ok {
		for i := range list {
			list[i] = hideAddress(list[i])
		}
	}
	if _, ok := spec["clusterIP"]; ok {
		spec["clusterIP"] = hideAddress(spec["clusterIP"])
	}
	hidePort(spec, "healthCheckNodePort")
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if port, ok := port.(map[string]any); ok {
			hidePort(port, "nodePort")
		}
	}
}

func hideAddress(value any) any {
	_, services, _ := net.ParseCIDR("10.0.0.0/24")
	if text, ok := value.(string); ok && services.Contains(net.ParseIP(text)) {
		return "allocated"
	}
	return value
}

func hidePort(object manifest, field string) {
	if number, err := strconv.Atoi(fmt.Sprint(object[field])); err == nil && number >= 30000 && number < 32768 {
		object[field] = "allocated"
	}
}

// owners returns the fields of each manager, by manager, operation, version and subresource.
func owners(object manifest) json.RawMessage {
	meta, _ := object["metadata"].(map[string]any)
	list, _ := meta["managedFields"].([]any)
	all := manifest{}
	for _, item := range list {
		item, _ := item.(map[string]any)
		name := fmt.Sprint(item["manager"], " ", item["operation"], " ", item["apiVersion"])
		if item["subresource"] != nil {
			name += fmt.Sprint(" ", item["subresource"])
		}
		all[name] = item["fieldsV1"]
	}
	text, _ := json.Marshal(all)
	return text
}

func isChanged(object, old manifest) bool {
	return resourceVersion(object) != resourceVersion(old)
}

func resourceVersion(object manifest) any {
	meta, _ := object["metadata"].(map[string]any)
	return meta["resourceVersion"]
}

// agent matches the code and the agent at the beginning of a warning.
var agent = regexp.MustCompile(`^299 \S+ `)

// compareTexts calls differ for each text that only one side has.
func compareTexts(ours, theirs []string, differ func(our, their string)) {
	normal := func(list []string) []string {
		out := map[string]bool{}
		for _, text := range list {
			text = agent.ReplaceAllString(text, "")
			if unquoted, err := strconv.Unquote(text); err == nil {
				text = unquoted
			}
			out[strings.TrimSpace(text)] = true
		}
		return slices.Sorted(maps.Keys(out))
	}
	our, their := normal(ours), normal(theirs)
	for _, text := range our {
		if !slices.Contains(their, text) {
			differ(text, "")
		}
	}
	for _, text := range their {
		if !slices.Contains(our, text) {
			differ("", text)
		}
	}
}
