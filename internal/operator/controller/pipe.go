package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/render"
)

// pipe is the work of a Pipe task: run a pod, read files from it, and store them in ConfigMaps
// and Secrets.
type pipe struct {
	place render.PipePlace
	pod   target
	files []api.PipeSpec
}

// pipes returns the names of the objects that the Pipe tasks of a plan create, by key.
func (e *execution) pipes(plan string) (map[string]string, error) {
	names := map[string]string{}
	for at, name := range tasks(plan, e.version.Spec.Plans[plan]) {
		task := e.version.Spec.Task(name)
		if task == nil || task.Kind != api.PipeTask {
			continue
		}
		for _, file := range task.Spec.Pipe {
			if _, twice := names[file.Key]; twice {
				return nil, fatalf("plan %s: task %s: there is more than one pipe with key %s", plan, name, file.Key)
			}
			names[file.Key] = e.pipePlace(at, name).Name(file.Key)
		}
	}
	return names, nil
}

// pipePlace returns the place of a Pipe task.
func (e *execution) pipePlace(at place, task string) render.PipePlace {
	return render.PipePlace{Instance: e.instance.Name, Plan: at.plan, Phase: at.phase, Step: at.step, Task: task}
}

// pipe returns the actions of a Pipe task. The ConfigMaps and Secrets are among them without
// content, which is not known before the pod has run.
func (e *execution) pipe(ctx context.Context, at place, task *api.Task) (actions, error) {
	text, err := e.template(ctx, at, task.Spec.Pod)
	if err != nil {
		return actions{}, err
	}
	parameters, err := e.takingPart(task, task.Spec.Pod)
	if err != nil {
		return actions{}, err
	}
	p := &pipe{place: e.pipePlace(at, task.Name), files: task.Spec.Pipe}
	pod, err := render.PipePod(text, p.place, p.files)
	if err != nil {
		return actions{}, fatalf("%s: %w", task.Spec.Pod, err)
	}
	api.SetAnnotation(pod, api.PipeRunAnnotation, string(e.instance.Spec.PlanExecution.UID))
	p.pod = target{Unstructured: pod, parameters: parameters, dropped: render.DropUnknown(pod)}
	if err := e.markOwned(at, pod); err != nil {
		return actions{}, err
	}
	all := actions{apply: []target{p.pod}, pipe: p}
	for _, file := range p.files {
		artifact, err := e.artifact(at, p, file, nil)
		if err != nil {
			return actions{}, err
		}
		all.apply = append(all.apply, artifact)
	}
	return all, nil
}

// artifact returns the ConfigMap or Secret with the content of a file. It has the parameters of
// the pod, because their values can decide what the pod writes.
func (e *execution) artifact(at place, p *pipe, file api.PipeSpec, content []byte) (target, error) {
	object, err := render.PipeArtifact(p.place, file, content)
	if err != nil {
		return target{}, fatalError{err}
	}
	return target{Unstructured: object, parameters: p.pod.parameters}, e.markOwned(at, object)
}

// runPipe runs a Pipe task. If it is interrupted, the next call finds the pod of this run and
// reads the files once more, or creates the pod again.
func (e *execution) runPipe(ctx context.Context, at place, p *pipe) error {
	found, err := e.user.get(ctx, p.pod.Unstructured)
	if err != nil {
		return err
	}
	// The spec of a pod is immutable, so the pod of an earlier run cannot be changed.
	if found != nil && owns(e.instance, found) &&
		found.GetAnnotations()[api.PipeRunAnnotation] != string(e.instance.Spec.PlanExecution.UID) {
		return e.remove(ctx, p.pod)
	}
	if err := e.record(ctx, []target{p.pod}); err != nil {
		return err
	}
	applied, err := e.apply(ctx, p.pod)
	if err != nil {
		return err
	}
	if err := typedCheck(applied, e.pipePodReady(ctx)); err != nil {
		return fmt.Errorf("%s: %w", title(applied), err)
	}
	var artifacts []target
	for _, file := range p.files {
		content, err := e.readFile(ctx, applied, render.PipeSource(file))
		if err != nil {
			return err
		}
		artifact, err := e.artifact(at, p, file, content)
		if err != nil {
			return err
		}
		artifacts = append(artifacts, artifact)
	}
	if err := e.applyAll(ctx, artifacts); err != nil {
		return err
	}
	return e.delete(ctx, p.pod, applied)
}

// pipePodReady returns a check that fails while the files of a pipe pod cannot be read.
func (e *execution) pipePodReady(ctx context.Context) func(*corev1.Pod) error {
	return func(pod *corev1.Pod) error {
		if pod.Spec.NodeName == "" && e.unattended && e.withoutNodes(ctx) {
			return fatalf("it cannot run, because the cluster has no nodes: a Pipe task reads files from a pod through its kubelet")
		}
		switch {
		case pod.Spec.NodeName == "":
			return waiting("no node has been chosen for it yet")
		case pod.Status.Phase == corev1.PodFailed:
			return fatalf("it failed: %s", pod.Status.Message)
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return waiting("its init container has not finished, or it is not ready")
	}
}

// withoutNodes reports whether the cluster has no nodes. It returns false if the requester may not
// list nodes.
func (e *execution) withoutNodes(ctx context.Context) bool {
	nodes, err := e.user.client.Resource(corev1.SchemeGroupVersion.WithResource("nodes")).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil && len(nodes.Items) == 0
}

// dryRunExec returns a fatal error if the server does not serve exec, or if the requester or an
// author of a value in the pod may not use it.
func (e *execution) dryRunExec(ctx context.Context, pod target) error {
	served, err := e.server.Discovery.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return err
	}
	found := false
	for _, resource := range served.APIResources {
		found = found || resource.Name == "pods/exec"
	}
	if !found {
		return fatalf("a Pipe task reads files from a pod through its kubelet, and this server does not serve pods/exec")
	}
	if err := e.mayExec(ctx, e.user.identity, pod); err != nil {
		return fmt.Errorf("%s: %w", title(pod.Unstructured), fatalIfPermanent(err))
	}
	for _, as := range e.authorsOf(pod.parameters) {
		err := e.mayExec(ctx, as.user, pod)
		if apierrors.IsForbidden(err) {
			return e.refused(as, pod, attempt{verb: "exec into"}, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
