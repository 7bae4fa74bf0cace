package manifest

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// settings returns 30 settings, which have about 3 KB. One of them differs for each generation.
func settings(generation int) map[string]string {
	all := map[string]string{"generation": text(generation)}
	for i := range 30 {
		all[fmt.Sprintf("setting-%02d.properties", i)] = fmt.Sprintf(
			"listen=0.0.0.0:80%02d\nlevel=info\nretention=72h\npeers=peer-0,peer-1,peer-2\n", i)
	}
	return all
}

// ConfigMap returns a ConfigMap of about 3 KB.
func ConfigMap(name string, generation int) Map {
	data := Map{}
	for key, value := range settings(generation) {
		data[key] = value
	}
	return Map{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name), "data": data}
}

// Secret returns a Secret with the values of ConfigMap.
func Secret(name string, generation int) Map {
	data := Map{}
	for key, value := range settings(generation) {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return Map{"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": metadata(name), "data": data}
}

// LargeConfigMap returns a ConfigMap with a number of bytes. No two have the same bytes.
func LargeConfigMap(name string, size int) Map {
	line := "# " + name + ": a line of a large file\n"
	return Map{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name),
		"data": Map{"file": strings.Repeat(line, size/len(line)+1)[:size]},
	}
}
