package views

import (
	"encoding/json"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// extensions is the group in which Deployments, DaemonSets, ReplicaSets, Ingresses and
// NetworkPolicies were served before they had groups of their own.
const extensions = "extensions"

var preRelease = regexp.MustCompile(`^v[0-9]+(alpha|beta)[0-9]+$`)

// isOlder reports whether a kind is an older version of the stored one that the server
// does not serve. Objects from other clusters may have configurations in such versions.
func (c canonical) isOlder(gvk schema.GroupVersionKind) bool {
	return !c.scheme.Recognizes(gvk) && preRelease.MatchString(gvk.Version) && (gvk.Group == c.hub.Group || gvk.Group == extensions)
}

// upgrade converts a configuration in an older version to the stored version of its
// kind. All these kinds but Ingress have the same fields in both.
func (c canonical) upgrade(config []byte) ([]byte, error) {
	var obj map[string]any
	if err := utiljson.Unmarshal(config, &obj); err != nil {
		return nil, err
	}
	obj["apiVersion"] = c.hub.GroupVersion().String()
	if c.hub.Kind == "Ingress" {
		upgradeIngress(obj)
	}
	return json.Marshal(obj)
}

// upgradeIngress renames the backends of an Ingress in v1beta1.
func upgradeIngress(obj map[string]any) {
	spec, _ := obj["spec"].(map[string]any)
	if backend, ok := spec["backend"].(map[string]any); ok {
		delete(spec, "backend")
		spec["defaultBackend"] = upgradeBackend(backend)
	}
	rules, _ := spec["rules"].([]any)
	for _, rule := range rules {
		rule, _ := rule.(map[string]any)
		paths, _, _ := unstructured.NestedFieldNoCopy(rule, "http", "paths")
		list, _ := paths.([]any)
		for _, path := range list {
			path, _ := path.(map[string]any)
			if backend, ok := path["backend"].(map[string]any); ok {
				path["backend"] = upgradeBackend(backend)
			}
		}
	}
}

// upgradeBackend converts serviceName and servicePort to service.
func upgradeBackend(backend map[string]any) map[string]any {
	service := map[string]any{}
	if name, ok := backend["serviceName"]; ok {
		service["name"] = name
	}
	switch port := backend["servicePort"].(type) {
	case string:
		service["port"] = map[string]any{"name": port}
	case int64:
		service["port"] = map[string]any{"number": port}
	}
	out := map[string]any{}
	if resource, ok := backend["resource"]; ok {
		out["resource"] = resource
	}
	if len(service) > 0 {
		out["service"] = service
	}
	return out
}
