package defaults_test

import "testing"

func TestAutoscaling(t *testing.T) {
	manifests{
		"HorizontalPodAutoscaler": {
			in: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3}}`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`,
		},
		"HorizontalPodAutoscaler with a behavior": {
			in: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 0
  metrics: [{type: Pods}]
  behavior: {}
`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 0
  metrics: [{type: Pods}]
  behavior:
    scaleUp:
      stabilizationWindowSeconds: 0
      selectPolicy: Max
      policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]
    scaleDown:
      selectPolicy: Max
      policies: [{type: Percent, value: 100, periodSeconds: 15}]
`,
		},
		"HorizontalPodAutoscaler with a partial behavior": {
			in: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 2
  metrics: [{type: Pods}]
  behavior:
    scaleUp: {stabilizationWindowSeconds: 5, selectPolicy: Disabled, policies: [{type: Pods, value: 1, periodSeconds: 1}]}
    scaleDown: {stabilizationWindowSeconds: 6, selectPolicy: Min, tolerance: "0.1"}
`,
			want: `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
spec:
  minReplicas: 2
  metrics: [{type: Pods}]
  behavior:
    scaleUp: {stabilizationWindowSeconds: 5, selectPolicy: Disabled, policies: [{type: Pods, value: 1, periodSeconds: 1}]}
    scaleDown:
      stabilizationWindowSeconds: 6
      selectPolicy: Min
      tolerance: "0.1"
      policies: [{type: Percent, value: 100, periodSeconds: 15}]
`,
		},
	}.run(t)
}
