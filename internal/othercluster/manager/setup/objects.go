package setup

import (
	"cmp"
	"embed"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/schema"
)

//go:embed objects/*.yaml
var files embed.FS

// Config is the configuration of an installation.
type Config struct {
	// Image is the image of the manager. Its entry point is the program holdfast.
	Image string
	// ServiceAccount is the name of the manager's service account. It defaults to manager.Name.
	ServiceAccount string
	// WebhookURL is the URL of a manager outside the cluster. If it is nil, the manager runs
	// as a Deployment, behind a Service.
	WebhookURL *url.URL
	// DefinitionsOnly leaves out everything but the definitions of the three kinds.
	DefinitionsOnly bool
	// Keys is the content of the Secret, from manager.CompleteKeys for Hosts. Install sets it
	// from the existing Secret.
	Keys map[string][]byte
}

// Hosts returns the hosts of the webhook's certificate.
func (c Config) Hosts() []string {
	return installation.Service{Namespace: manager.Namespace, Name: manager.Secret}.Hosts(c.WebhookURL)
}

// Objects returns all objects of an installation, in the order in which they are applied.
func Objects(config Config) ([]*unstructured.Unstructured, error) {
	all, err := read("cluster")
	if err != nil {
		return nil, err
	}
	for _, object := range all {
		if object.GetKind() == "Secret" && object.GetName() == manager.Secret {
			installation.SetKeys(object, config.Keys)
		}
		config.setAccount(object)
	}
	webhooks, err := webhooks(config)
	if err != nil {
		return nil, err
	}
	kinds, err := definitions()
	if err != nil {
		return nil, err
	}
	all = slices.Concat(all, webhooks, kinds)
	if config.DefinitionsOnly {
		all = kinds
	} else if config.WebhookURL == nil {
		workload, err := workload(config)
		if err != nil {
			return nil, err
		}
		all = append(all, workload...)
	}
	installation.Label(all, "holdfast-kudo")
	return all, nil
}

// setAccount puts the name of the service account into the ServiceAccount, or into the subjects
// of a binding.
func (c Config) setAccount(object *unstructured.Unstructured) {
	if object.GetKind() == "ServiceAccount" {
		object.SetName(c.account())
	}
	subjects, _ := object.Object["subjects"].([]any)
	for _, each := range subjects {
		if subject, isObject := each.(map[string]any); isObject {
			subject["name"] = c.account()
		}
	}
}

// account returns the name of the manager's service account.
func (c Config) account() string { return cmp.Or(c.ServiceAccount, manager.Name) }

// webhooks returns the webhook configurations, with the address of the manager.
func webhooks(config Config) ([]*unstructured.Unstructured, error) {
	all, err := read("webhooks")
	if err != nil {
		return nil, err
	}
	bundle := base64.StdEncoding.EncodeToString(config.Keys[manager.AuthorityCertKey])
	for _, object := range all {
		hooks, _ := object.Object["webhooks"].([]any)
		for _, each := range hooks {
			hook, _ := each.(map[string]any)
			path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", object.GetKind(), err)
			}
			client := map[string]any{"caBundle": bundle}
			if config.WebhookURL != nil {
				client["url"] = config.WebhookURL.JoinPath(path).String()
			} else {
				client["service"] = map[string]any{
					"namespace": manager.Namespace, "name": manager.Secret, "path": path, "port": int64(443),
				}
			}
			hook["clientConfig"] = client
		}
	}
	return all, nil
}

// workload returns the Deployment of the manager and its Service.
func workload(config Config) ([]*unstructured.Unstructured, error) {
	all, err := read("workload")
	if err != nil {
		return nil, err
	}
	for _, object := range all {
		if object.GetKind() != "Deployment" {
			continue
		}
		if err := unstructured.SetNestedField(object.Object, config.account(), "spec", "template", "spec", "serviceAccountName"); err != nil {
			return nil, fmt.Errorf("%s: %w", object.GetKind(), err)
		}
		err := installation.SetContainer(object, func(container map[string]any) {
			container["image"] = config.Image
			args, _ := container["args"].([]any)
			container["args"] = append(args, "--service-account="+config.account())
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// definitions returns the definitions of the three kinds without our schema keywords, which
// other servers refuse. The webhook enforces what these keywords say.
func definitions() ([]*unstructured.Unstructured, error) {
	texts, err := api.CustomResourceDefinitions()
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, text := range texts {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			return nil, fmt.Errorf("definition of a kind: %w", err)
		}
		dropKeywords(object.Object["spec"])
		all = append(all, object)
	}
	return all, nil
}

// dropKeywords removes our schema keywords from a node and everything below it.
func dropKeywords(node any) {
	switch node := node.(type) {
	case map[string]any:
		for _, keyword := range []string{
			schema.ImmutableKeyword, schema.ImmutableKeysKeyword, schema.AdditionOnlyKeyword, schema.DeletionOnlyKeyword,
			schema.NoPruneKeyword, schema.NormalizeKeyword,
		} {
			delete(node, keyword)
		}
		for value := range maps.Values(node) {
			dropKeywords(value)
		}
	case []any:
		for _, value := range node {
			dropKeywords(value)
		}
	}
}

// read decodes the objects of an embedded file.
func read(name string) ([]*unstructured.Unstructured, error) {
	return installation.Read(files, "objects/"+name+".yaml")
}
