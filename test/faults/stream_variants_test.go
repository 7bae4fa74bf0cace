package faults_test

import (
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/watchcheck"
)

// streamNamespace is the namespace of the objects that the writer of the streams changes. Other writes of a test are in other namespaces.
const streamNamespace = "streams"

// streamKind is a kind that the streams watch.
type streamKind struct {
	name, group, version, resource string
	// value is the field that the writer changes.
	value []string
}

var streamKinds = []*streamKind{
	{name: "ConfigMap", version: "v1", resource: "configmaps", value: []string{"data", "value"}},
	{name: "Mark", group: "streams.holdfast.dev", version: "v1", resource: "marks", value: []string{"spec", "value"}},
}

// path returns the path of the objects of a namespace, or of all namespaces.
func (k *streamKind) path(namespace string) string {
	path := "/apis/" + k.group + "/" + k.version
	if k.group == "" {
		path = "/api/" + k.version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + k.resource
}

// stored returns the begin of the keys of the objects in etcd.
func (k *streamKind) stored(namespace string) string {
	key := "/registry/"
	if k.group != "" {
		key += k.group + "/"
	}
	key += k.resource + "/"
	if namespace != "" {
		key += namespace + "/"
	}
	return key
}

func (k *streamKind) apiVersion() string {
	if k.group == "" {
		return k.version
	}
	return k.group + "/" + k.version
}

// variant is what a stream shows, and how.
type variant struct {
	kind           *streamKind
	path           string
	form, encoding string
	query          url.Values
	selects        func(watchcheck.Object) bool
	// initial says that the stream begins with initial events and not with a list.
	initial bool
}

// variants returns the streams of a test: each kind in each form and encoding, and with selectors. alone restricts them to the objects of the
// writer of the streams.
func variants(alone bool) []variant {
	var all []variant
	for _, k := range streamKinds {
		encodings := map[string][]string{asObjects: {inJSON}, asMetadata: {inJSON, inProtobuf}, asTable: {inJSON}}
		if k.group == "" {
			encodings[asObjects] = append(encodings[asObjects], inProtobuf)
		}
		for _, form := range []string{asObjects, asMetadata, asTable} {
			for _, encoding := range encodings[form] {
				all = append(all, variant{kind: k, form: form, encoding: encoding})
			}
		}
		// Selectors change with the form and the encoding, so that each occurs with several of them.
		all = append(all,
			variant{kind: k, form: asObjects, encoding: inJSON}.labelled(),
			variant{kind: k, form: asObjects, encoding: inJSON}.named(),
			variant{kind: k, form: asMetadata, encoding: inProtobuf}.labelled(),
			variant{kind: k, form: asTable, encoding: inJSON}.labelled())
	}
	for i := range all {
		// Every other stream begins with initial events. Tables of metadata have other rows than Tables of objects.
		all[i].initial = i%2 == 1
		namespace := ""
		if alone {
			namespace = streamNamespace
		}
		all[i].path = all[i].kind.path(namespace)
		if all[i].query == nil {
			all[i].query = url.Values{}
		}
		if all[i].form == asTable && all[i].selects == nil {
			all[i].query.Set("includeObject", "Object")
		}
	}
	return all
}

// labelled selects the objects with a label.
func (v variant) labelled() variant {
	v.query = url.Values{"labelSelector": {"state=on"}}
	v.selects = func(o watchcheck.Object) bool {
		state, _, _ := unstructured.NestedString(o, "metadata", "labels", "state")
		return state == "on"
	}
	return v
}

// named selects the objects with a name.
func (v variant) named() variant {
	v.query = url.Values{"fieldSelector": {"metadata.name=" + markedName}}
	v.selects = func(o watchcheck.Object) bool { return nameOf(o) == markedName }
	return v
}

// shows returns the part of the objects that the stream shows.
func (v variant) shows() watchcheck.Form {
	if v.form == asMetadata || v.form == asTable && v.query.Get("includeObject") == "" {
		return watchcheck.Metadata
	}
	return watchcheck.Whole
}

func (v variant) String() string {
	form := v.form
	if form == asObjects {
		form = "object"
	}
	return fmt.Sprintf("%s as %s in %s, %s", v.kind.resource, form, v.encoding, v.query.Encode())
}
