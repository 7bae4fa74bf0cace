package series

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/references"
)

// workload is an object that may refer to members of a series.
type workload struct {
	resource schema.GroupVersionResource
	live     *unstructured.Unstructured
	rules    *references.Rules
}

// String returns the workload as kubectl prints it: deployment.apps/web.
func (w *workload) String() string {
	kind := strings.ToLower(w.live.GetKind())
	if w.resource.Group != "" {
		kind += "." + w.resource.Group
	}
	return kind + "/" + w.live.GetName()
}

// client returns the client of the workload.
func (w *workload) client(s *server) dynamic.ResourceInterface {
	if namespace := w.live.GetNamespace(); namespace != "" {
		return s.dynamic.Resource(w.resource).Namespace(namespace)
	}
	return s.dynamic.Resource(w.resource)
}

// references returns the references of the workload to objects of a kind in a namespace.
func (w *workload) references(kind references.Kind, namespace string) []references.Reference {
	var found []references.Reference
	for _, r := range w.rules.Find(w.live.Object) {
		if in := r.Namespace; r.Kind == kind && !r.IsPattern() && (in == namespace || in == "" && w.live.GetNamespace() == namespace) {
			found = append(found, r)
		}
	}
	return found
}

// named reads the workloads that the user names, as TYPE/NAME.
func (s *server) named(ctx context.Context, names []string) ([]*workload, error) {
	for _, text := range names {
		if of, name, _ := strings.Cut(text, "/"); of == "" || name == "" || strings.Contains(name, "/") {
			return nil, command.Unable(fmt.Errorf("--in %s: name each workload as TYPE/NAME, as in --in deploy/web,sts/db", cmp.Or(text, `""`)))
		}
	}
	infos, err := resource.NewBuilder(s).Unstructured().NamespaceParam(s.namespace).DefaultNamespace().
		ResourceTypeOrNameArgs(false, names...).Flatten().Do().Infos()
	if err != nil {
		return nil, command.Unable(fmt.Errorf("read the workloads of --in in namespace %s: %w", s.namespace, withRight(err)))
	}
	var found []*workload
	for _, info := range infos {
		live, isObject := info.Object.(*unstructured.Unstructured)
		if !isObject {
			return nil, command.Unable(fmt.Errorf("read the workloads of --in: %T is not an object", info.Object))
		}
		w := &workload{resource: info.Mapping.Resource, live: live}
		if slices.ContainsFunc(found, func(other *workload) bool { return other.String() == w.String() }) {
			continue // named twice
		}
		if err := w.mayFollow(); err != nil {
			return nil, err
		}
		if w.rules, err = s.rulesOf(ctx, w); err != nil {
			return nil, err
		}
		found = append(found, w)
	}
	return found, nil
}

// mayFollow returns why the references of a workload cannot be changed.
func (w *workload) mayFollow() error {
	if owner := metav1.GetControllerOf(w.live); owner != nil {
		return refused("%s belongs to %s/%s, which would change it back: name that instead", w, strings.ToLower(owner.Kind), owner.Name)
	}
	switch w.resource.GroupResource() {
	case schema.GroupResource{Resource: "pods"}:
		return refused("%s: the references of a pod cannot change: create the pod again with the new name", w)
	case schema.GroupResource{Group: "batch", Resource: "jobs"}:
		return refused("%s: the template of a job cannot change: create the job again with the new name", w)
	}
	return nil
}

// definitions is the resource of CustomResourceDefinitions.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// rulesOf returns the rules that find the references of a workload: those of a built-in kind, or those that the definition declares.
func (s *server) rulesOf(ctx context.Context, w *workload) (*references.Rules, error) {
	of := w.resource.GroupResource()
	if rules, known := references.BuiltIn(of); known {
		return rules, nil
	}
	if rules := s.rules[of]; rules != nil {
		return rules, nil
	}
	stored, err := s.dynamic.Resource(definitions).Get(ctx, of.String(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, refused("%s: objects of this kind refer to no ConfigMap or Secret", w)
	}
	if err != nil {
		return nil, command.Unable(fmt.Errorf("read the definition of %s: %w", w, withRight(err)))
	}
	crd, err := source.FromServer(stored)
	if err != nil {
		return nil, command.Unable(fmt.Errorf("decode the definition of %s: %w", w, err))
	}
	text, declared := crd.References()
	if !declared {
		return nil, refused("%s: the CustomResourceDefinition %s does not declare where its references are: "+
			"set its annotation %s, with lines such as \"ConfigMap spec.configMapName\"", w, of, references.Annotation)
	}
	rules, err := references.Parse(text)
	if err != nil {
		return nil, refused("%s: the annotation %s of the CustomResourceDefinition %s: %v", w, references.Annotation, of, err)
	}
	s.rules[of] = rules
	return rules, nil
}

// templates are the workloads of Kubernetes with a template that can change.
func templates() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Version: "v1", Resource: "replicationcontrollers"},
	}
}

// all reads the workloads of the namespace that refer to the series. Workloads with a controller are left out: they get their template
// from it. unread has the errors for the kinds that the user may not list.
func (s *server) all(ctx context.Context, m *members) (found []*workload, unread []error, err error) {
	for _, of := range templates() {
		rules, _ := references.BuiltIn(of.GroupResource())
		options := metav1.ListOptions{Limit: 500}
		for {
			list, err := s.dynamic.Resource(of).Namespace(s.namespace).List(ctx, options)
			if apierrors.IsForbidden(err) {
				unread = append(unread, err)
				break
			}
			if apierrors.IsNotFound(err) {
				break // the server does not have the kind
			}
			if err != nil {
				return nil, nil, command.Unable(fmt.Errorf("read the %s of namespace %s: %w", of.Resource, s.namespace, err))
			}
			for i := range list.Items {
				w := &workload{resource: of, live: &list.Items[i], rules: rules}
				if metav1.GetControllerOf(w.live) == nil && w.refersTo(m, s.namespace) {
					found = append(found, w)
				}
			}
			if options.Continue = list.GetContinue(); options.Continue == "" {
				break
			}
		}
	}
	return found, unread, nil
}

// refersTo reports whether a workload refers to a series.
func (w *workload) refersTo(m *members, namespace string) bool {
	return len(w.membersOf(m, namespace)) > 0
}

// membersOf returns the names of the members that a workload refers to, in the order of the references.
func (w *workload) membersOf(m *members, namespace string) []string {
	var names []string
	for _, r := range w.references(m.kind, namespace) {
		if m.covers(r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}
