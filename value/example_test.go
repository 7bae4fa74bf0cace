package value_test

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/holdfast/value"
)

func ExampleMode_Equal() {
	fmt.Println(value.Strict.Equal(int64(1), 1.0))
	fmt.Println(value.Strict.Equal(map[string]any{"a": nil}, map[string]any{}))
	fmt.Println(value.Applied.Equal(map[string]any{"a": nil}, map[string]any{}))
	fmt.Println(value.Strict.Equal(json.Number("9007199254740993"), float64(1<<53)))
	// Output:
	// true
	// false
	// true
	// false
}

func ExampleParsePath() {
	path, err := value.ParsePath(`spec.ports[name="http"].port`)
	if err != nil {
		panic(err)
	}
	fmt.Println(path)
	// Output: spec.ports[name="http"].port
}
