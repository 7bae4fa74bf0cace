package value

// Shape says how the values at one place of an object are compared. With the nil
// Shape, values are compared as they are, and lists in order. The Go type of a Shape
// must be comparable with ==, such as a pointer.
type Shape interface {
	// Field returns the Shape of the value at a key.
	Field(name string) Shape
	// Item returns the Shape of the item at an index of a list.
	Item(index int) Shape
	// Traits returns how the comparison at this place differs from the usual one.
	Traits() Traits
}

// Traits say how the comparison at one place differs from the usual one.
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
