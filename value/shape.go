package value

// Shape says how the values at one place of an object are compared. The nil
// Shape knows nothing: values there are compared as they are. A Shape must be
// comparable with ==, as a pointer is.
type Shape interface {
	// Field returns the Shape of the value at a key.
	Field(name string) Shape
	// Item returns the Shape of the item at an index of a list.
	Item(index int) Shape
	// Traits returns what is special about the values at this place.
	Traits() Traits
}

// Traits are what is special about comparing the values at one place.
type Traits struct {
	// Set means that the order of the items of a list does not count.
	Set bool
	// Ignored means that the values are not compared at all.
	Ignored bool
	// Canonical, if not nil, returns the form in which a scalar is compared, such
	// as a quantity in its smallest unit.
	Canonical func(scalar any) any
}

func field(s Shape, name string) Shape {
	if s == nil {
		return nil
	}
	return s.Field(name)
}

func item(s Shape, index int) Shape {
	if s == nil {
		return nil
	}
	return s.Item(index)
}

func isIgnored(s Shape) bool { return s != nil && s.Traits().Ignored }

func isSet(s Shape) bool { return s != nil && s.Traits().Set }

// canonical returns a scalar in the form in which it is compared.
func canonical(s Shape, scalar any) any {
	if s == nil {
		return scalar
	}
	convert := s.Traits().Canonical
	if _, absent := scalar.(Absent); absent || convert == nil {
		return scalar
	}
	return convert(scalar)
}
