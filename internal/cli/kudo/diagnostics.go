package kudo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	clients "holdfast.dev/holdfast/internal/connection"
)

// maxLog is the number of bytes that are read of one log.
const maxLog = 10 << 20

func newDiagnosticsCommand(program Program) *cobra.Command {
	var conn connection
	var who named
	var folder string
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "collect [INSTANCE]",
		Short: "Collect what helps to find out why an instance does not work",
		Long: `Collect what helps to find out why an instance does not work, in a new folder: the
instance, its operator and operator version, its objects, its pods with their logs,
the events about them, and the same of the instances that it installed.

The values of Secrets are left out. Parameter values, ConfigMaps and logs are not:
look at the folder before you pass it on. What you may not read is in errors.txt.`,
		Example: "  holdfast kudo diagnostics collect --instance zookeeper",
		Args:    arguments.AtMost("INSTANCE"),
		RunE: conn.withInstance(&who, func(cmd *cobra.Command, s *server, instance *api.Instance) error {
			config, err := conn.config()
			if err != nil {
				return err
			}
			if err := os.Mkdir(folder, 0o700); err != nil {
				return fmt.Errorf("--output-directory: %w", err)
			}
			on, err := clients.Open(config, clients.Options{})
			if err != nil {
				return fmt.Errorf("kubeconfig: %w", err)
			}
			defer on.Close()
			d := &diagnostics{server: s, on: on, since: since}
			d.kinds = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(on.Discovery))
			d.versions(folder, program.Version)
			d.instance(cmd.Context(), folder, instance)
			if err := d.finish(folder); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "diagnostics of instance %s are in %s (files: %d, errors: %d)\n",
				instance.Name, folder, d.files, len(d.errors))
			return err
		}),
	}
	conn.AddNamespaceFlags(cmd.Flags())
	who.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&folder, "output-directory", "O", "diag", "folder to create")
	cmd.Flags().DurationVar(&since, "log-since", 0, "how far back logs go, such as 2h (default: all)")
	return group("diagnostics", "Collect what helps to find out why an instance does not work", cmd)
}

// diagnostics collects objects in a folder.
type diagnostics struct {
	server *server
	on     *clients.Connection
	kinds  *restmapper.DeferredDiscoveryRESTMapper
	since  time.Duration
	files  int
	// errors say what could not be read or written.
	errors []string
}

// fail notes an error. The rest is collected all the same.
func (d *diagnostics) fail(what string, err error) {
	d.errors = append(d.errors, fmt.Sprintf("%s: %s", what, err))
}

// finish writes the errors.
func (d *diagnostics) finish(folder string) error {
	if len(d.errors) == 0 {
		return nil
	}
	return write(filepath.Join(folder, "errors.txt"), strings.Join(d.errors, "\n")+"\n")
}

// save writes an object as YAML, without managed fields and without the values of Secrets.
func (d *diagnostics) save(file string, object any) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err == nil {
		withoutSecrets(&unstructured.Unstructured{Object: content})
		var text []byte
		if text, err = yaml.Marshal(content); err == nil {
			err = write(file, string(text))
		}
	}
	if err != nil {
		d.fail(file, err)
		return
	}
	d.files++
}

// withoutSecrets removes the managed fields of an object, and replaces the values of a Secret by
// their sizes.
func withoutSecrets(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
	if object.GetKind() != "Secret" {
		return
	}
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	for _, field := range []string{"data", "stringData"} {
		values, _ := object.Object[field].(map[string]any)
		for key, value := range values {
			values[key] = fmt.Sprintf("(left out, %d characters)", len(fmt.Sprint(value)))
		}
	}
}

// versions writes the versions of the program and of the server.
func (d *diagnostics) versions(folder, program string) {
	content := map[string]any{"holdfast": program}
	if version, err := d.on.Discovery.ServerVersion(); err != nil {
		d.fail("version of the server", err)
	} else {
		content["server"] = version.GitVersion
	}
	d.save(filepath.Join(folder, "version.yaml"), &content)
}

// instance collects an Instance, and below it those that it owns.
func (d *diagnostics) instance(ctx context.Context, folder string, instance *api.Instance) {
	instance.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Instance"}
	d.save(filepath.Join(folder, "instance.yaml"), instance)
	version, err := d.server.version(ctx, instance.VersionKey())
	switch {
	case err != nil:
		d.fail("operator version "+instance.VersionKey(), err)
	case version == nil:
		d.fail("operator version "+instance.VersionKey(), fmt.Errorf("there is none"))
	default:
		d.save(filepath.Join(folder, "operatorversion.yaml"), version)
		d.operator(ctx, folder, version.Spec.Operator.Name)
	}
	for _, reference := range instance.Status.Objects {
		d.object(ctx, folder, reference)
	}
	d.pods(ctx, folder, instance.Name)
	d.events(ctx, folder, instance)
	var all api.InstanceList
	if err := d.server.list(ctx, instances, &all); err != nil {
		d.fail("instances", err)
	}
	for i := range all.Items {
		if metav1.IsControlledBy(&all.Items[i], instance) {
			d.instance(ctx, filepath.Join(folder, "instances", all.Items[i].Name), &all.Items[i])
		}
	}
}

// operator collects an Operator.
func (d *diagnostics) operator(ctx context.Context, folder, name string) {
	operator := &api.Operator{}
	if err := d.server.get(ctx, operators, name, operator); err != nil {
		d.fail("operator "+name, err)
		return
	}
	d.save(filepath.Join(folder, "operator.yaml"), operator)
}

// object collects an object that plans have applied.
func (d *diagnostics) object(ctx context.Context, folder string, reference api.AppliedObject) {
	what := reference.Kind + " " + reference.Name
	kind := schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind)
	mapping, err := d.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		d.fail(what, err)
		return
	}
	found, err := d.on.Dynamic.Resource(mapping.Resource).Namespace(reference.Namespace).Get(ctx, reference.Name, metav1.GetOptions{})
	if err != nil {
		d.fail(what, err)
		return
	}
	d.save(filepath.Join(folder, "objects", strings.ToLower(reference.Kind), found.GetName()+".yaml"), &found.Object)
}

// pods collects the pods of an Instance and the logs of their containers.
func (d *diagnostics) pods(ctx context.Context, folder, instance string) {
	selector := labels.Set{api.InstanceLabel: instance}.String()
	pods, err := d.on.Typed.CoreV1().Pods(d.server.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		d.fail("pods", err)
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		d.save(filepath.Join(folder, "pods", pod.Name, "pod.yaml"), pod)
		for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			if err := d.log(ctx, folder, pod, container.Name); err != nil {
				d.fail(fmt.Sprintf("log of pod %s, container %s", pod.Name, container.Name), err)
			}
		}
	}
}

// log collects the log of a container.
func (d *diagnostics) log(ctx context.Context, folder string, pod *corev1.Pod, container string) error {
	options := &corev1.PodLogOptions{Container: container, LimitBytes: new(int64(maxLog))}
	if d.since > 0 {
		options.SinceSeconds = new(int64(d.since.Seconds()))
	}
	stream, err := d.on.Typed.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, maxLog))
	if err != nil {
		return err
	}
	d.files++
	return write(filepath.Join(folder, "pods", pod.Name, container+".log"), string(text))
}

// events collects the events about an Instance, its objects and its pods.
func (d *diagnostics) events(ctx context.Context, folder string, instance *api.Instance) {
	list, err := d.on.Typed.CoreV1().Events(d.server.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		d.fail("events", err)
		return
	}
	about := map[string]bool{"Instance/" + instance.Name: true}
	for _, reference := range instance.Status.Objects {
		about[reference.Kind+"/"+reference.Name] = true
	}
	kept := corev1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}}
	for _, event := range list.Items {
		object := event.InvolvedObject
		if about[object.Kind+"/"+object.Name] || object.Kind == "Pod" && d.collected(folder, object.Name) {
			event.ManagedFields = nil
			kept.Items = append(kept.Items, event)
		}
	}
	d.save(filepath.Join(folder, "events.yaml"), &kept)
}

// collected reports whether a pod is among those that were collected.
func (d *diagnostics) collected(folder, pod string) bool {
	_, err := os.Stat(filepath.Join(folder, "pods", pod))
	return err == nil
}
