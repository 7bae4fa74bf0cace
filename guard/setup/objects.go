// Package setup has the objects of the guard on a cluster: its kind, its account with the least rights, its
// certificate and its Deployment. It installs and removes them.
//
//	err := setup.Install(ctx, config, setup.Config{Image: image}, report)
//	err = setup.Uninstall(ctx, config, report)
//
// The webhook configuration is not among the objects: the guard itself writes it, when it answers reviews.
package setup

import (
	"embed"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/guard"
)

//go:embed objects/*.yaml
var files embed.FS

// Config is the configuration of an installation.
type Config struct {
	// Image is the image of the guard. Its entry point is the program holdfast.
	Image string
	// URL is the URL of a guard outside of the cluster. If it is nil, the guard runs as a Deployment,
	// behind a Service.
	URL *url.URL
	// CertManager means that cert-manager makes the certificate of the webhook.
	CertManager bool
	// Keys is the content of the Secret, from guard.Certificates. Install sets it from the existing
	// Secret.
	Keys map[string][]byte
}

// Hosts returns the hosts of the webhook's certificate.
func (c Config) Hosts() []string {
	if c.URL != nil {
		return []string{c.URL.Hostname()}
	}
	service := guard.Name + "." + guard.Namespace + ".svc"
	return []string{service, service + ".cluster.local"}
}

// Objects returns all objects of an installation, in the order in which they are applied.
func Objects(config Config) ([]*unstructured.Unstructured, error) {
	names := []string{"kind", "cluster"}
	if config.CertManager {
		names = append(names, "cert-manager")
	} else {
		names = append(names, "secret")
	}
	if config.URL == nil {
		names = append(names, "workload")
	}
	var all []*unstructured.Unstructured
	for _, name := range names {
		objects, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	for _, object := range all {
		if err := config.complete(object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return all, nil
}

// complete sets what depends on the configuration.
func (c Config) complete(object *unstructured.Unstructured) error {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["app.kubernetes.io/part-of"] = guard.Name
	object.SetLabels(labels)
	switch object.GetKind() {
	case "Secret":
		data := make(map[string]any, len(c.Keys))
		for name, text := range c.Keys {
			data[name] = base64.StdEncoding.EncodeToString(text)
		}
		object.Object["data"] = data
	case "Certificate":
		return unstructured.SetNestedStringSlice(object.Object, c.Hosts(), "spec", "dnsNames")
	case "Deployment":
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil {
			return err
		}
		container, _ := containers[0].(map[string]any)
		container["image"] = c.Image
		return unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
	}
	return nil
}

// read decodes the objects of an embedded file.
func read(name string) ([]*unstructured.Unstructured, error) {
	text, err := files.ReadFile("objects/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("objects/%s.yaml: %w", name, err)
		}
		all = append(all, object)
	}
	return all, nil
}
