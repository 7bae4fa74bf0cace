package defaults_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPod(t *testing.T) {
	manifests{
		"empty": {
			in:   `{apiVersion: v1, kind: Pod}`,
			want: podOf(podDefaults),
		},
		"with all fields": {
			in: `
apiVersion: v1
kind: Pod
spec:
  restartPolicy: Never
  dnsPolicy: Default
  schedulerName: mine
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 0}
  enableServiceLinks: false
`,
			want: `
apiVersion: v1
kind: Pod
spec:
  restartPolicy: Never
  dnsPolicy: Default
  schedulerName: mine
  terminationGracePeriodSeconds: 0
  securityContext: {runAsUser: 0}
  enableServiceLinks: false
`,
		},
		"with containers": {
			in: podOf(`
  overhead: {cpu: 1u}
  initContainers:
  - {name: init, image: a:1, ports: [{containerPort: 1}], resources: {limits: {cpu: "1"}}}
  containers:
  - name: main
    image: a
    ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP}]
    env:
    - {name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: B, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}
    - {name: C, value: c}
    resources: {limits: {cpu: 100u, memory: 1Gi}, requests: {memory: 1Mi}}
    livenessProbe: {httpGet: {port: 80}}
    readinessProbe: {grpc: {port: 81}}
    startupProbe: {periodSeconds: 1, timeoutSeconds: 2, successThreshold: 3, failureThreshold: 4}
    lifecycle:
      postStart: {httpGet: {port: 80}}
      preStop: {httpGet: {port: 80, path: /bye, scheme: HTTPS}}
  - {name: explicit, image: b, imagePullPolicy: Never, terminationMessagePath: /x, terminationMessagePolicy: FallbackToLogsOnError}
  ephemeralContainers:
  - {name: debug, image: a:1, resources: {limits: {cpu: "1"}}}
`),
			want: podOf(podDefaults + `
  overhead: {cpu: 1m}
  initContainers:
  - name: init
    image: a:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    ports: [{containerPort: 1, protocol: TCP}]
    resources: {limits: {cpu: "1"}, requests: {cpu: "1"}}
  containers:
  - name: main
    image: a
    imagePullPolicy: Always
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    ports: [{containerPort: 80, protocol: TCP}, {containerPort: 53, protocol: UDP}]
    env:
    - {name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
    - {name: B, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k, optional: false}}}
    - {name: C, value: c}
    resources: {limits: {cpu: 1m, memory: 1Gi}, requests: {cpu: 1m, memory: 1Mi}}
    livenessProbe:
      httpGet: {port: 80, path: /, scheme: HTTP}
      periodSeconds: 10
      timeoutSeconds: 1
      successThreshold: 1
      failureThreshold: 3
    readinessProbe:
      grpc: {port: 81, service: ""}
      periodSeconds: 10
      timeoutSeconds: 1
      successThreshold: 1
      failureThreshold: 3
    startupProbe: {periodSeconds: 1, timeoutSeconds: 2, successThreshold: 3, failureThreshold: 4}
    lifecycle:
      postStart: {httpGet: {port: 80, path: /, scheme: HTTP}}
      preStop: {httpGet: {port: 80, path: /bye, scheme: HTTPS}}
  - {name: explicit, image: b, imagePullPolicy: Never, terminationMessagePath: /x, terminationMessagePolicy: FallbackToLogsOnError}
  ephemeralContainers:
  - name: debug
    image: a:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    resources: {limits: {cpu: "1"}}
`),
		},
		"with hostNetwork": {
			in: podOf(`
  hostNetwork: true
  initContainers:
  - {name: a, image: a:1, ports: [{containerPort: 80}]}
  containers:
  - {name: b, image: a:1, ports: [{containerPort: 81}, {containerPort: 82, hostPort: 83}]}
`),
			want: podOf(`
  hostNetwork: true
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 30
  securityContext: {}
  enableServiceLinks: true
  initContainers:
  - name: a
    image: a:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]
  containers:
  - name: b
    image: a:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    ports: [{containerPort: 81, hostPort: 81, protocol: TCP}, {containerPort: 82, hostPort: 83, protocol: TCP}]
`),
		},
		"with pod-level limits": {
			in: podOf(`
  resources: {limits: {cpu: "4", memory: 1Gi, hugepages-1Gi: 1Gi}}
  containers:
  - {name: a, image: a:1, resources: {requests: {cpu: "1", example.com/x: "1"}, limits: {hugepages-2Mi: 4Mi}}}
  - {name: b, image: a:1, resources: {requests: {cpu: "1"}}}
`),
			want: podOf(podDefaults + `
  resources:
    limits: {cpu: "4", memory: 1Gi, hugepages-1Gi: 1Gi, hugepages-2Mi: 4Mi}
    requests: {cpu: "2", memory: 1Gi, hugepages-1Gi: 1Gi, hugepages-2Mi: 4Mi}
  containers:
  - name: a
    image: a:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    resources: {requests: {cpu: "1", example.com/x: "1", hugepages-2Mi: 4Mi}, limits: {hugepages-2Mi: 4Mi}}
  - name: b
    image: a:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    resources: {requests: {cpu: "1"}}
`),
		},
		"with pod-level requests": {
			in: podOf(`
  resources: {requests: {cpu: 10u}}
  containers: [{name: a, image: a:1, resources: {requests: {memory: 1Gi}}}]
`),
			want: podOf(podDefaults + `
  resources: {requests: {cpu: 1m}}
  containers:
  - name: a
    image: a:1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    resources: {requests: {memory: 1Gi}}
`),
		},
		"with container statuses": {
			in: podOf(`
  restartPolicy: Always
status:
  containerStatuses:
  - {name: a, image: a, imageID: "", ready: true, restartCount: 0, allocatedResources: {cpu: 1u}, resources: {limits: {cpu: 1u}}}
`),
			want: podOf(podDefaults + `
status:
  containerStatuses:
  - {name: a, image: a, imageID: "", ready: true, restartCount: 0, allocatedResources: {cpu: 1m}, resources: {limits: {cpu: 1m}}}
`),
		},
	}.run(t)
}

// podDefaults are the defaults of the spec of a pod.
const podDefaults = `
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 30
  securityContext: {}
  enableServiceLinks: true`

// podOf returns a Pod in YAML. spec is indented by two spaces.
func podOf(spec string) string {
	return "apiVersion: v1\nkind: Pod\nspec:" + spec
}

// TestPullPolicyFollowsTheTag checks the default pull policy of images.
func TestPullPolicyFollowsTheTag(t *testing.T) {
	digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	scheme := newScheme()
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                               corev1.PullAlways,
		"nginx:latest":                        corev1.PullAlways,
		"nginx:1.27":                          corev1.PullIfNotPresent,
		"nginx:Latest":                        corev1.PullIfNotPresent,
		"library/nginx":                       corev1.PullAlways,
		"registry.example.com:5000/a/b":       corev1.PullAlways,
		"registry.example.com:5000/a/b:v1":    corev1.PullIfNotPresent,
		"localhost:5000/a":                    corev1.PullAlways,
		"Registry/a":                          corev1.PullAlways,
		"[::1]:5000/a__b/c-d":                 corev1.PullAlways,
		"nginx" + digest:                      corev1.PullIfNotPresent,
		"nginx:latest" + digest:               corev1.PullAlways,
		"nginx:1.27" + digest:                 corev1.PullIfNotPresent,
		"":                                    corev1.PullIfNotPresent,
		"Nginx":                               corev1.PullIfNotPresent,
		"not an image":                        corev1.PullIfNotPresent,
		digest[len("@sha256:"):]:              corev1.PullIfNotPresent,
		"nginx:" + fmt.Sprintf("%0129d", 1):   corev1.PullIfNotPresent,
		"nginx@sha256:0123":                   corev1.PullIfNotPresent,
		"registry.example.com/nginx-:latest":  corev1.PullIfNotPresent,
		"registry.example.com/ng..inx:latest": corev1.PullIfNotPresent,
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Image: image}},
			Volumes:    []corev1.Volume{{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image}}}},
		}}
		scheme.Default(p)
		if got := p.Spec.Containers[0].ImagePullPolicy; got != want {
			t.Errorf("container of %q is pulled %s, want %s", image, got, want)
		}
		if got := p.Spec.Volumes[0].Image.PullPolicy; got != want {
			t.Errorf("volume of %q is pulled %s, want %s", image, got, want)
		}
	}
}
