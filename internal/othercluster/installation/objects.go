package installation

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Read decodes the objects in a YAML file.
func Read(files fs.FS, path string) ([]*unstructured.Unstructured, error) {
	text, err := fs.ReadFile(files, path)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, object)
	}
	return all, nil
}

// Label labels objects as parts of an installation.
func Label(objects []*unstructured.Unstructured, name string) {
	for _, object := range objects {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["app.kubernetes.io/part-of"] = name
		object.SetLabels(labels)
	}
}

// SetKeys puts the keys of a webhook into a Secret.
func SetKeys(secret *unstructured.Unstructured, keys map[string][]byte) {
	data := make(map[string]any, len(keys))
	for name, text := range keys {
		data[name] = base64.StdEncoding.EncodeToString(text)
	}
	secret.Object["data"] = data
}

// SetContainer changes the first container of a Deployment.
func SetContainer(deployment *unstructured.Unstructured, change func(container map[string]any)) error {
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return fmt.Errorf("%s: %w", deployment.GetKind(), err)
	}
	if container, ok := containers[0].(map[string]any); ok {
		change(container)
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}

// Service is the Service of a webhook.
type Service struct{ Namespace, Name string }

// Hosts returns the hosts of the webhook's certificate: those of the Service, or the one of the URL of a
// program outside of the cluster, which may be nil.
func (s Service) Hosts(outside *url.URL) []string {
	if outside != nil {
		return []string{outside.Hostname()}
	}
	service := s.Name + "." + s.Namespace + ".svc"
	return []string{service, service + ".cluster.local"}
}
