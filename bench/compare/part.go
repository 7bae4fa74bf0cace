package compare

// partFields is the number of fields of one part. A part is an object in spec that describes one workload. A resource has as many
// parts as its number of fields needs.
const partFields = 15

// described adds a description to a schema. The descriptions have a length that is usual in public projects.
func described(text string, schema object) object {
	schema["description"] = text
	return schema
}

// partSchema returns the schema of one part, with the keywords that schemas of public projects use.
func partSchema() object {
	text := func(length int) object { return object{"type": "string", "maxLength": length} }
	number := func(highest int) object { return object{"type": "integer", "minimum": 0, "maximum": highest} }
	quantity := func() object { return object{"x-kubernetes-int-or-string": true} }
	return object{
		"type": "object", "required": list{"image", "replicas"},
		"x-kubernetes-validations": list{
			object{"rule": "self.replicas <= self.maxReplicas", "message": "replicas must not exceed maxReplicas"},
			object{"rule": "!has(self.ports) || self.ports.all(p, p.port > 0)", "message": "ports must be positive"},
		},
		"properties": object{
			"image": described("The image that the containers of this part run, with its registry and its tag.",
				object{"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[a-z0-9./:@_-]+$"}),
			"class":    described("The size of the machines.", object{"type": "string", "enum": list{"small", "medium", "large"}}),
			"replicas": described("The number of replicas that the controller starts. It must not exceed maxReplicas.", number(1000)),
			"maxReplicas": described("The highest number of replicas.",
				object{"type": "integer", "minimum": 0, "maximum": 1000, "default": 1000}),
			"priority":  described("Parts with a higher priority start first.", number(100)),
			"paused":    described("The controller changes nothing while this is true.", object{"type": "boolean", "default": false}),
			"retention": described("How long the controller keeps finished work.", object{"type": "string", "format": "duration"}),
			"threshold": described("The load at which the controller adds a replica, as a number or a percentage.", quantity()),
			"weight":    described("The part of the traffic.", object{"type": "number", "minimum": 0, "maximum": 1}),
			"labels": described("Labels that the controller adds to every object that it creates.",
				object{"type": "object", "maxProperties": 32, "additionalProperties": text(63)}),
			"resources": described("What each replica may use.",
				object{"type": "object", "properties": object{"cpu": quantity(), "memory": quantity()}}),
			"env": described("The environment of the containers.",
				keyedList(64, "name", object{"name": text(64), "value": text(256)})),
			"ports": described("The ports that the containers listen on.", keyedList(16, "port", object{
				"port":     number(65535),
				"protocol": object{"type": "string", "enum": list{"TCP", "UDP"}, "default": "TCP"},
			})),
			"zones": described("The zones of the replicas.",
				object{"type": "array", "maxItems": 8, "x-kubernetes-list-type": "set", "items": text(63)}),
		},
	}
}

// keyedList returns the schema of a list of objects with the list type map. The field key identifies an item: two items of a list
// cannot have the same value in it.
func keyedList(length int, key string, properties object) object {
	return object{
		"type": "array", "maxItems": length, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list{key},
		"items": object{"type": "object", "required": list{key}, "properties": properties},
	}
}

// part returns the value of one part. It sets every field.
func part(name string, replicas int) object {
	return object{
		"image": "registry.example.com/fleet/" + name + ":1.27.4", "class": "medium",
		"replicas": replicas, "maxReplicas": 1000, "priority": 10, "paused": false,
		"retention": "72h", "threshold": "85%", "weight": 0.25,
		"labels":    object{"app.kubernetes.io/name": name, "tier": "data"},
		"resources": object{"cpu": "500m", "memory": "2Gi"},
		"env": list{
			object{"name": "LOG_LEVEL", "value": "info"},
			object{"name": "PEERS", "value": "peer-0." + name + ",peer-1." + name},
		},
		"ports": list{object{"port": 8080, "protocol": "TCP"}},
		"zones": list{"north-1a", "north-1b"},
	}
}
