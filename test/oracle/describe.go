package main

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiserviceetcd "k8s.io/kube-aggregator/pkg/registry/apiservice/etcd"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/printers"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// describe records how kubectl prints the stored object, and what field selectors compare.
func (w *write) describe() error {
	obj, err := w.read()
	if err != nil {
		return err
	}
	table, err := w.table(obj)
	if err != nil {
		return err
	}
	w.answer.Cells = table.Rows[0].Cells
	w.answer.Fields = map[string]string{"metadata.name": objectMeta(obj).GetName()}
	if w.kind.main.NamespaceScoped() {
		w.answer.Fields["metadata.namespace"] = objectMeta(obj).GetNamespace()
	}
	if w.kind.attributes == nil {
		return nil
	}
	_, fields, err := w.kind.attributes(obj)
	w.answer.Fields = fields
	return err
}

func (w *write) table(obj runtime.Object) (*metav1.Table, error) {
	if w.version.Group == apiregistration.GroupName {
		return (&apiserviceetcd.REST{}).ConvertToTable(w.ctx, obj, nil)
	}
	table, err := w.tables.GenerateTable(obj, printers.GenerateOptions{Wide: true})
	if err != nil && strings.HasPrefix(err.Error(), "no table handler") {
		return rest.NewDefaultTableConvertor(schema.GroupResource{Group: w.version.Group}).ConvertToTable(w.ctx, obj, nil)
	}
	return table, err
}

// properties records what does not depend on an object.
func (w *write) properties() {
	strategy := w.kind.main
	out := &Properties{
		Namespaced:          strategy.NamespaceScoped(),
		CreateOnUpdate:      strategy.AllowCreateOnUpdate(),
		UnconditionalUpdate: strategy.AllowUnconditionalUpdate(),
		Dependents:          string(rest.DeleteDependents),
		ResetFields:         map[string][]string{"": w.resetFields(strategy)},
	}
	if collected, ok := strategy.(rest.GarbageCollectionDeleteStrategy); ok {
		out.Dependents = string(collected.DefaultGarbageCollectionPolicy(w.ctx))
	}
	for name, strategy := range w.kind.subresources {
		out.ResetFields[name] = w.resetFields(strategy)
	}
	// An empty list has the same columns. The printers of some kinds panic for an empty object.
	internal := schema.GroupVersionKind{Group: w.version.Group, Version: runtime.APIVersionInternal, Kind: w.version.Kind + "List"}
	list, err := legacyscheme.Scheme.New(internal)
	if err != nil {
		w.answer.Failure = err.Error()
		return
	}
	table, err := w.table(list)
	if err != nil {
		w.answer.Failure = err.Error()
		return
	}
	out.Columns = table.ColumnDefinitions
	w.answer.Properties = out
}

// resetFields returns the fields that a write ignores, in the version of the request.
func (w *write) resetFields(strategy any) []string {
	resetting, ok := strategy.(rest.ResetFieldsStrategy)
	if !ok {
		return nil
	}
	set := resetting.GetResetFields()[fieldpath.APIVersion(w.version.GroupVersion().String())]
	if set == nil {
		return nil
	}
	var paths []string
	set.Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
	slices.Sort(paths)
	return paths
}
