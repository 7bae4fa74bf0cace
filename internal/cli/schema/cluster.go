package schema

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/definition"
)

const (
	// pageSize is the number of objects in one response of the server.
	pageSize = 500
	// ofCluster is the value of --objects for the objects of a server.
	ofCluster = "cluster"
)

// cluster is the server that a kubeconfig names.
type cluster struct{ command.Server }

// config returns the configuration of a client.
func (c *cluster) config() (*rest.Config, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // one request at a time is slow enough
	return config, nil
}

// connect returns a client of the server.
func (c *cluster) connect() (dynamic.Interface, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client, nil
}

// readCluster reads the objects of a kind, in a version that the definition serves.
func (c *cluster) readCluster(ctx context.Context, crd *definition.CustomResourceDefinition) ([]map[string]any, error) {
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	var objects []map[string]any
	if err := listObjects(ctx, client, crd, func(object map[string]any) { objects = append(objects, object) }); err != nil {
		return nil, fmt.Errorf("list %s on the server: %w", crd.Name, err)
	}
	return objects, nil
}

// listObjects calls a function for each object of a kind, in a version that the definition serves.
func listObjects(ctx context.Context, client dynamic.Interface, crd *definition.CustomResourceDefinition, visit func(map[string]any)) error {
	version := servedVersion(crd)
	if version == "" {
		return errors.New("no version is served")
	}
	resource := client.Resource(runtimeschema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural})
	return eachPage(func(options metav1.ListOptions) (string, error) {
		list, err := resource.List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			visit(list.Items[i].Object)
		}
		return list.GetContinue(), nil
	})
}

// eachPage calls a function for each page of a list. The function returns the token of the next page.
func eachPage(list func(metav1.ListOptions) (string, error)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		next, err := list(options)
		if apierrors.IsResourceExpired(err) {
			// The server has dropped the state of the first page, and offers to go on with the newest one.
			var status apierrors.APIStatus
			if errors.As(err, &status) && status.Status().Continue != "" {
				next, err = status.Status().Continue, nil
			}
		}
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

// servedVersion returns the storage version if it is served, else the first served one. It is empty if there is none.
func servedVersion(crd *definition.CustomResourceDefinition) string {
	served := ""
	for _, v := range crd.Spec.Versions {
		switch {
		case v.Served && v.Storage:
			return v.Name
		case v.Served && served == "":
			served = v.Name
		}
	}
	return served
}
