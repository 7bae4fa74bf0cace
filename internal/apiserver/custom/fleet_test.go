package custom_test

import (
	"fmt"
	"strings"
)

// components are the parts of a Fleet, the resource that the benchmarks use. It has the
// size and shape of the resources that operators for databases and gateways define.
var components = []string{
	"ingest", "router", "store", "index", "query", "cache",
	"ruler", "compactor", "gateway", "console", "backup", "exporter",
}

// component is the schema of one part. It has 15 fields with the keywords of real
// schemas. fleetDefinition replaces MARK and ZONES by a marker or by nothing.
const component = `
type: object
required: [image, replicas, class]
x-kubernetes-validations:
- {rule: "self.replicas <= self.maxReplicas", message: replicas must not exceed maxReplicas}
- {rule: "!has(self.ports) || self.ports.all(p, p.port > 0)", message: ports must be positive}
properties:
  image: {type: string, minLength: 1, maxLength: 256, pattern: '^[a-z0-9./:@_-]+$'}
  class: {type: string, enum: [small, medium, large], MARK}
  replicas: {type: integer, minimum: 0, maximum: 1000}
  maxReplicas: {type: integer, minimum: 0, maximum: 1000, default: 1000}
  paused: {type: boolean, default: false}
  retention: {type: string, format: duration}
  threshold: {x-kubernetes-int-or-string: true}
  weight: {type: number, minimum: 0, maximum: 1}
  labels: {type: object, maxProperties: 32, additionalProperties: {type: string, maxLength: 63}}
  resources: {type: object, properties: {cpu: {x-kubernetes-int-or-string: true}, memory: {x-kubernetes-int-or-string: true}}}
  env:
    type: array
    maxItems: 64
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items: {type: object, required: [name], properties: {name: {type: string, maxLength: 64}, value: {type: string, maxLength: 256}}}
  ports:
    type: array
    maxItems: 16
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [port]
    items:
      type: object
      required: [port]
      properties: {port: {type: integer, minimum: 0, maximum: 65535}, protocol: {type: string, enum: [TCP, UDP], default: TCP}}
  zones: {type: array, maxItems: 8, x-kubernetes-list-type: set, items: {type: string, maxLength: 63}, ZONES}
`

// fleetDefinition returns the definition of Fleets in a group. With markers it has 20 of
// them: two for each of the first eight components, one for each of the others.
func fleetDefinition(group string, marked bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.%s}
spec:
  group: %s
  scope: Namespaced
  names: {plural: fleets, kind: Fleet}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          status: {type: object, properties: {phase: {type: string}, observed: {type: integer}}}
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "self.region == oldSelf.region", message: region is fixed}
            - {rule: "self.ingest.replicas + self.store.replicas > 0", message: nothing would run}
            properties:
              region: {type: string, maxLength: 64}
              owner: {type: string, format: email}
              window: {type: string, format: date-time}
`, group, group)
	indent := "\n" + strings.Repeat(" ", 16)
	for i, name := range components {
		class, zones := "", ""
		if marked {
			class = ", x-kubernetes-immutable: true"
		}
		if marked && i < 8 {
			zones = ", x-kubernetes-addition-only: true"
		}
		part := strings.NewReplacer(", MARK", class, ", ZONES", zones).Replace(component)
		fmt.Fprintf(&b, "              %s:%s\n", name, strings.ReplaceAll(strings.TrimSuffix(part, "\n"), "\n", indent))
	}
	return b.String()
}

// fleet returns a Fleet of about 6 KB.
func fleet(group, name string, replicas int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: %s/v1
kind: Fleet
metadata: {name: %s, namespace: default, labels: {app: fleet, team: harbour}}
spec:
  region: north-1
  owner: harbour@example.com
  window: "2026-11-15T02:00:00Z"
`, group, name)
	for _, part := range components {
		fmt.Fprintf(&b, `
  %s:
    image: registry.example.com/fleet/%s:1.27.4
    class: medium
    replicas: %d
    maxReplicas: 40
    paused: false
    retention: 72h
    threshold: 85%%
    weight: 0.25
    labels: {app.kubernetes.io/name: %s, app.kubernetes.io/part-of: fleet, tier: data}
    resources: {cpu: 500m, memory: 2Gi}
    env: [{name: LOG_LEVEL, value: info}, {name: LISTEN, value: "0.0.0.0:8080"}, {name: PEERS, value: "peer-0.%s,peer-1.%s"}]
    ports: [{port: 8080, protocol: TCP}, {port: 9090, protocol: TCP}]
    zones: [north-1a, north-1b]
`, part, part, replicas, part, part, part)
	}
	return b.String()
}
