package object

// Size returns about how many bytes the object has as JSON. The watch cache bounds its history by it.
func (o *Object) Size() int { return bytesOf(o.Object) }

func bytesOf(value any) int {
	// Numbers, booleans and null have some characters, and every value is followed by a comma or a bracket.
	size := 8
	switch value := value.(type) {
	case string:
		size += len(value)
	case map[string]any:
		for key, member := range value {
			size += len(key) + bytesOf(member)
		}
	case []any:
		for _, element := range value {
			size += bytesOf(element)
		}
	}
	return size
}
