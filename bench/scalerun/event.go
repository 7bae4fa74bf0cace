package scalerun

import "bytes"

// event is what the run reads of a line of a watch.
type event struct {
	// kind is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	kind                      string
	namespace, name, revision string
	// deleting says that the object has a deletion timestamp, and running that the pod runs.
	deleting, running bool
	// initial says that the event came before the bookmark which ends the objects that existed, and complete that it is this bookmark.
	initial, complete bool
}

// key is the namespace and the name.
func (e event) key() string { return e.namespace + "/" + e.name }

// parseEvent reads a line of a watch. It does not decode the object, so that thousands of watches take little CPU time: in the JSON of
// a server, the first name, namespace and resource version are those of the metadata.
func parseEvent(line []byte) event {
	metadata := line
	if at := bytes.Index(line, []byte(`"metadata":{`)); at >= 0 {
		metadata = line[at:]
	}
	return event{
		kind: valueOf(line, "type"), namespace: valueOf(metadata, "namespace"), name: valueOf(metadata, "name"),
		revision: valueOf(metadata, "resourceVersion"), deleting: bytes.Contains(metadata, []byte(`"deletionTimestamp":"`)),
		running:  bytes.Contains(metadata, []byte(`"phase":"Running"`)),
		complete: bytes.Contains(metadata, []byte(`"k8s.io/initial-events-end":"true"`)),
	}
}

// valueOf returns the first value of a key in a text.
func valueOf(text []byte, key string) string {
	_, rest, found := bytes.Cut(text, []byte(`"`+key+`":"`))
	if !found {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
