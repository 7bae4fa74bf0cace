package gate_test

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// store creates three objects in v1, without those that the server refuses. So the gate can name all of them.
func (o *oracle) store(group string, s state) []*unstructured.Unstructured {
	o.Helper()
	var out []*unstructured.Unstructured
	for i := range 9 {
		if len(out) == 3 {
			break
		}
		object := &unstructured.Unstructured{Object: node{
			"apiVersion": group + "/v1", "kind": "Boat", "metadata": node{"name": fmt.Sprint("o", i), "namespace": "default"}, "spec": o.value(s.one),
		}}
		created, err := o.objects(o.fixture, group, "v1").Create(o.Context(), object, metav1.CreateOptions{})
		if err == nil {
			out = append(out, created)
		} else if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			o.Fatal(err)
		}
	}
	return out
}

// objects returns the objects of a group in a version.
func (o *oracle) objects(f *fixture, group, version string) dynamic.ResourceInterface {
	resource := boats
	resource.Group, resource.Version = group, version
	return f.client.Resource(resource).Namespace("default")
}

// write reads the objects by the new definition, and writes each one again, as it was, on a server with nothing but this definition.
func (o *oracle) write(group string, changed *unstructured.Unstructured, stored []*unstructured.Unstructured) outcome {
	o.Helper()
	if _, err := o.scratch.client.Resource(definitions).Create(o.Context(), changed, metav1.CreateOptions{}); err != nil {
		o.Fatal(err)
	}
	is := outcome{lost: names{}, refused: names{}, nulls: names{}}
	for _, was := range stored {
		name := was.GetName()
		read, err := o.objects(o.fixture, group, "v1").Get(o.Context(), name, metav1.GetOptions{})
		if err != nil {
			o.Fatal(err)
		}
		written, err := o.again(group, was)
		if err != nil {
			is.refused[name] = true
		} else {
			is.lacks(name, missingFrom(written.Object["spec"], was.Object["spec"]))
		}
		is.lacks(name, missingFrom(read.Object["spec"], was.Object["spec"]))
	}
	return is
}

// refusedByStorage returns the objects that the storage version does not accept, as it returns them.
func (o *oracle) refusedByStorage(group, version string) names {
	o.Helper()
	list, err := o.objects(o.fixture, group, version).List(o.Context(), metav1.ListOptions{})
	if err != nil {
		o.Fatal(err)
	}
	out := names{}
	for i := range list.Items {
		name := list.Items[i].GetName()
		list.Items[i].SetName(name + "-stored")
		if _, err := o.again(group, &list.Items[i]); err != nil {
			out[name] = true
		}
	}
	return out
}

// again creates an object on the other server, and reads it there. The error says that this server refuses it.
func (o *oracle) again(group string, was *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o.Helper()
	copied := &unstructured.Unstructured{Object: node{
		"apiVersion": was.GetAPIVersion(), "kind": was.GetKind(), "metadata": node{"name": was.GetName()},
	}}
	if spec, ok := was.Object["spec"]; ok {
		copied.Object["spec"] = runtime.DeepCopyJSONValue(spec)
	}
	objects := o.objects(o.scratch, group, copied.GroupVersionKind().Version)
	if _, err := objects.Create(o.Context(), copied, metav1.CreateOptions{}); err != nil {
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			o.Fatal(err)
		}
		return nil, err
	}
	written, err := objects.Get(o.Context(), was.GetName(), metav1.GetOptions{})
	if err != nil {
		o.Fatal(err)
	}
	return written, nil
}
