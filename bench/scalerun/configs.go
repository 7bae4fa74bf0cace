package scalerun

import (
	"context"
	"fmt"
	"net/http"

	"holdfast.dev/holdfast/bench/manifest"
	"holdfast.dev/holdfast/bench/side"
)

// config is a ConfigMap or a Secret that pods name.
type config struct {
	resource, name string
	immutable      bool
	// volume and nameField are the names of the fields of a volume that name the object.
	volume, nameField string
	make              func(name string, generation int) manifest.Map
}

// configsOf returns the objects of an application: a mutable and an immutable ConfigMap, and two such Secrets.
func configsOf(application string) []config {
	return []config{
		{"configmaps", application + "-mutable", false, "configMap", "name", manifest.ConfigMap},
		{"configmaps", application + "-immutable", true, "configMap", "name", manifest.ConfigMap},
		{"secrets", application + "-mutable", false, "secret", "secretName", manifest.Secret},
		{"secrets", application + "-immutable", true, "secret", "secretName", manifest.Secret},
	}
}

// prepare creates the namespaces with their ServiceAccounts, the ConfigMaps and the Secrets.
func (f *fleet) prepare(ctx context.Context) error {
	for i := range f.settings.Namespaces {
		name := f.namespace(i)
		if err := f.put(ctx, "namespaces", "/api/v1/namespaces", manifest.Map{
			"apiVersion": "v1", "kind": "Namespace", "metadata": manifest.Map{"name": name},
		}); err != nil {
			return err
		}
		// A controller of Holdfast creates the ServiceAccount too.
		if err := f.put(ctx, "serviceaccounts", "/api/v1/namespaces/"+name+"/serviceaccounts", manifest.Map{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": manifest.Map{"name": "default"},
		}); err != nil {
			return err
		}
	}
	return each(f.settings.Creators, f.settings.Configs, func(_, i int) error {
		for _, c := range configsOf(applicationName(i)) {
			obj := c.make(c.name, 1)
			obj["metadata"].(manifest.Map)["namespace"] = f.namespace(i)
			if c.immutable {
				obj["immutable"] = true
			}
			if err := f.put(ctx, c.resource, "/api/v1/namespaces/"+f.namespace(i)+"/"+c.resource, obj); err != nil {
				return err
			}
		}
		return nil
	})
}

// put creates an object, unless it exists.
func (f *fleet) put(ctx context.Context, resource, path string, obj manifest.Map) error {
	_, err := f.admin.Do(ctx, side.Request{Method: http.MethodPost, Path: path, Body: manifest.Encode(obj)})
	if err == nil || isCode(err, http.StatusConflict) {
		return nil
	}
	return fmt.Errorf("create %s: %w", resource, err)
}

// changeConfig changes a mutable ConfigMap, which its watches get.
func (f *fleet) changeConfig(ctx context.Context, generation int) {
	application := generation % f.settings.Configs
	path := "/api/v1/namespaces/" + f.namespace(application) + "/configmaps/" + applicationName(application) + "-mutable"
	_, _ = f.do(ctx, f.admin, kind{"patch", "configmaps"}, side.Request{
		Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json",
		Body: manifest.Encode(manifest.Map{"data": manifest.Map{"generation": fmt.Sprint(generation)}}),
	})
}
