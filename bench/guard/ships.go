package guard

// shipsDefinition is the definition of the random writes. It has every marker, in forms that policies and CEL can express, and
// fields with which CEL differs from our server.
const shipsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ships.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ships, singular: ship, kind: Ship}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string, enum: [small, large], x-kubernetes-immutable: true}
              note: {type: string, nullable: true, maxLength: 16, x-kubernetes-immutable: true}
              launched: {type: string, format: date-time, x-kubernetes-immutable: true}
              draught: {type: number, x-kubernetes-immutable: true}
              colour: {type: string}
              count: {type: integer}
              replicas: {type: integer}
              hull:
                type: object
                properties:
                  wood: {type: string, x-kubernetes-immutable: true}
                  length: {type: integer}
              crew:
                type: object
                maxProperties: 8
                additionalProperties: {type: string}
                x-kubernetes-addition-only: true
              cargo:
                type: object
                maxProperties: 8
                additionalProperties: {type: integer}
                x-kubernetes-deletion-only: true
              flags:
                type: array
                maxItems: 8
                x-kubernetes-list-type: set
                x-kubernetes-addition-only: true
                items: {type: string, maxLength: 16}
              masts:
                type: array
                maxItems: 8
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                x-kubernetes-immutable-keys: true
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string, maxLength: 16, x-kubernetes-immutable: true}
                    height: {type: integer}
                    sail: {type: string, maxLength: 16, x-kubernetes-immutable: true}
          status:
            type: object
            properties:
              phase: {type: string, x-kubernetes-immutable: true}
              replicas: {type: integer}
`

// boatsDefinition has a version without a field that another version marks. Neither policies nor CEL are compared for it.
const boatsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.com
  annotations:
    holdfast.dev/immutability: |
      v2: immutable spec.rigging
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: false
    schema:
      openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {colour: {type: string}}}}}
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {colour: {type: string}, rigging: {type: string}}}}
`

// Values that are equal for CEL.
const (
	utc, abroad         = "2020-01-01T00:00:00Z", "2020-01-01T01:00:00+01:00"
	largeEven, largeOdd = 9007199254740992, 9007199254740993
)

// values are the values of the fields of a ship. There are few, so that most writes change little.
var values = map[string][]any{
	"size":     {"small", "large"},
	"note":     {"a", nil},
	"launched": {utc, abroad, "2021-01-01T00:00:00Z"},
	"draught":  {largeEven, largeOdd, 2.5},
	"colour":   {"red", "blue"},
	"count":    {1, 2},
	"replicas": {0, 1},
	"hull":     {object{"wood": "oak", "length": 9}, object{"wood": "oak", "length": 10}, object{"wood": "ash"}, object{}},
	"crew":     {object{"cook": "jo"}, object{"cook": "jo", "mate": "al"}, object{"cook": "al"}, object{}},
	"cargo":    {object{"rum": 1, "tea": 2}, object{"rum": 1}, object{"rum": 2}, object{}},
	"flags":    {[]any{"a", "b"}, []any{"b", "a"}, []any{"a"}, []any{"a", "c"}},
	"masts": {
		[]any{object{"name": "main", "height": 9, "sail": "white"}, object{"name": "fore"}},
		[]any{object{"name": "fore"}, object{"name": "main", "height": 8, "sail": "white"}},
		[]any{object{"name": "main", "sail": "red"}, object{"name": "fore"}},
		[]any{object{"name": "main"}},
	},
}

// object is a JSON object.
type object = map[string]any
