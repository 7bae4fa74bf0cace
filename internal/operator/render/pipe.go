package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
)

// PipeContainer is the container of a pipe pod from which the controller reads the files. It
// starts when the init container has written them, and waits.
const PipeContainer = "waiter"

// PipePlace is the place of a Pipe task in the plans of an Instance. It decides the names of
// the objects of the task.
type PipePlace struct{ Instance, Plan, Phase, Step, Task string }

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Name returns the name of an object of the task, as KUDO has it: for the pod the suffix is
// pipepod, for a ConfigMap or Secret it is the key of the file.
func (p PipePlace) Name(suffix string) string {
	parts := []string{p.Instance, p.Plan, p.Phase, p.Step, p.Task, suffix}
	for i, part := range parts {
		parts[i] = notInNames.ReplaceAllString(strings.ToLower(part), "")
	}
	return strings.Join(parts, ".")
}

// PodName returns the name of the pod of the task.
func (p PipePlace) PodName() string { return p.Name("pipepod") }

// PipeSource returns the path of a file in the pod.
func PipeSource(file api.PipeSpec) string {
	if file.File != "" {
		return file.File
	}
	return file.EnvFile
}

// PipePod returns the pod of a Pipe task from the text of its template. The template has one
// init container, which writes the files to an emptyDir volume. PipePod adds a container with
// the same volume, which waits.
func PipePod(text string, place PipePlace, files []api.PipeSpec) (*unstructured.Unstructured, error) {
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(text), pod); err != nil {
		return nil, fmt.Errorf("pod: %w", err)
	}
	shared, err := pipeVolume(pod)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := checkPipeFile(PipeSource(file), shared.MountPath); err != nil {
			return nil, err
		}
	}
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	pod.Name, pod.GenerateName = place.PodName(), ""
	pod.Annotations = merged(pod.Annotations, map[string]string{api.PipePodAnnotation: "true"})
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	pod.Spec.Containers = []corev1.Container{{
		Name: PipeContainer, Image: "busybox", Command: []string{"/bin/sh", "-c"}, Args: []string{"sleep infinity"},
		VolumeMounts:    []corev1.VolumeMount{{Name: shared.Name, MountPath: shared.MountPath}},
		SecurityContext: pod.Spec.InitContainers[0].SecurityContext,
	}}
	pod.Status = corev1.PodStatus{}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	return &unstructured.Unstructured{Object: content}, nil
}

// pipeVolume returns the mount of the volume to which the init container writes the files.
func pipeVolume(pod *corev1.Pod) (corev1.VolumeMount, error) {
	var none corev1.VolumeMount
	switch {
	case len(pod.Spec.Containers) > 0:
		return none, errors.New("pod: spec.containers: a pipe pod has none: its init container writes the files")
	case len(pod.Spec.InitContainers) != 1:
		return none, errors.New("pod: spec.initContainers: a pipe pod has exactly one")
	case pod.Spec.RestartPolicy != "" && pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure:
		return none, errors.New("pod: spec.restartPolicy: that of a pipe pod is OnFailure")
	}
	var names []string
	for _, volume := range pod.Spec.Volumes {
		if volume.EmptyDir != nil {
			names = append(names, volume.Name)
		}
	}
	if len(names) != 1 {
		return none, errors.New("pod: spec.volumes: a pipe pod has exactly one of type emptyDir, for the files")
	}
	for _, mount := range pod.Spec.InitContainers[0].VolumeMounts {
		if mount.Name == names[0] {
			return mount, nil
		}
	}
	return none, fmt.Errorf("pod: spec.initContainers[0].volumeMounts: volume %s is not among them", names[0])
}

var pipeFileName = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// checkPipeFile checks that a file is below the folder that the volume is mounted at.
func checkPipeFile(file, folder string) error {
	base := path.Base(file)
	switch {
	case !path.IsAbs(file) || path.Clean(file) != file || !strings.HasPrefix(file, path.Clean(folder)+"/"):
		return fmt.Errorf("file %s: not a path below %s, where the volume is mounted", file, folder)
	case !pipeFileName.MatchString(base) || len(base) > validation.DNS1123SubdomainMaxLength:
		return fmt.Errorf("file %s: a name has letters, digits, '.', '_' and '-' only", file)
	}
	return nil
}

// PipeArtifact returns the ConfigMap or Secret with the content of a file.
func PipeArtifact(place PipePlace, file api.PipeSpec, content []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": file.Kind}}
	object.SetName(place.Name(file.Key))
	data := map[string][]byte{path.Base(PipeSource(file)): content}
	if file.EnvFile != "" {
		var err error
		if data, err = environment(content); err != nil {
			return nil, fmt.Errorf("file %s: %w", file.EnvFile, err)
		}
	}
	switch {
	case file.Kind == "Secret":
		object.Object["type"] = string(corev1.SecretTypeOpaque)
		object.Object["data"] = encoded(data)
	case file.Kind == "ConfigMap" && file.EnvFile != "":
		values := map[string]any{}
		for key, value := range data {
			values[key] = string(value)
		}
		object.Object["data"] = values
	case file.Kind == "ConfigMap":
		object.Object["binaryData"] = encoded(data)
	default:
		return nil, fmt.Errorf("file %s: kind %q is neither Secret nor ConfigMap", PipeSource(file), file.Kind)
	}
	return object, nil
}

// encoded returns binary values in the form of unstructured content.
func encoded(data map[string][]byte) map[string]any {
	values := map[string]any{}
	for key, value := range data {
		values[key] = base64Of(value)
	}
	return values
}

// environment returns the variables of a file with lines of the form KEY=VALUE.
func environment(content []byte) (map[string][]byte, error) {
	values := map[string][]byte{}
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	lines.Buffer(nil, len(content)+1)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimLeft(lines.Text(), " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		// The message has no part of the line, which may be secret.
		if !found || len(validation.IsEnvVarName(key)) > 0 {
			return nil, fmt.Errorf("line %d: not of the form KEY=VALUE", number)
		}
		values[key] = []byte(value)
	}
	return values, lines.Err()
}
