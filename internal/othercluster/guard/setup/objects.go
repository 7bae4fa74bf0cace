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
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/othercluster/installation"
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
	// Verify means that Install changes nothing. It reports the objects that are missing and those that differ.
	Verify bool
	// Keys is the content of the Secret, from guard.Certificates. Install sets it from the existing
	// Secret.
	Keys map[string][]byte
}

// Hosts returns the hosts of the webhook's certificate.
func (c Config) Hosts() []string {
	return installation.Service{Namespace: guard.Namespace, Name: guard.Name}.Hosts(c.URL)
}

// Objects returns all objects of an installation, in the order in which they are applied.
func Objects(config Config) ([]*unstructured.Unstructured, error) {
	names := []string{"kind", "namespace", "cluster"}
	if config.CertManager {
		names = append(names, "cert-manager")
	} else {
		names = append(names, "keys", "secret")
	}
	if config.URL == nil {
		names = append(names, "workload")
	}
	var all []*unstructured.Unstructured
	for _, name := range names {
		objects, err := installation.Read(files, "objects/"+name+".yaml")
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	installation.Label(all, guard.Name)
	for _, object := range all {
		if err := config.complete(object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return all, nil
}

// complete sets what depends on the configuration.
func (c Config) complete(object *unstructured.Unstructured) error {
	switch object.GetKind() {
	case "Secret":
		installation.SetKeys(object, c.Keys)
	case "Certificate":
		return unstructured.SetNestedStringSlice(object.Object, c.Hosts(), "spec", "dnsNames")
	case "Deployment":
		return installation.SetContainer(object, func(container map[string]any) { container["image"] = c.Image })
	}
	return nil
}
