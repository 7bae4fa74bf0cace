package fieldhistory

// items compares two lists by the keys of their items. It returns false if that is not possible: if an item does not have all keys, if
// two have the same, or if items that both lists have are in another order.
func (d *differ) items(p place, before, after []any) bool {
	old, okOld := itemsOf(p, before)
	updated, ok := itemsOf(p, after)
	if !okOld || !ok {
		return false
	}
	var common []string
	for _, text := range old.texts {
		if _, both := updated.at[text]; both {
			common = append(common, text)
		}
	}
	i := 0
	for _, text := range updated.texts {
		if _, both := old.at[text]; !both {
			continue
		}
		if common[i] != text {
			return false
		}
		i++
	}
	for i := len(before) - 1; i >= 0; i-- {
		if _, both := updated.at[old.texts[i]]; !both {
			d.remove(p.item(i, before[i]), before[i])
		}
	}
	for i, text := range updated.texts {
		at, both := old.at[text]
		if !both {
			d.add(p.item(i, after[i]), after[i])
			continue
		}
		below := p.item(i, after[i])
		below.index = nil
		d.compare(below, before[at], after[i])
	}
	return true
}

// keyedItems are the items of a list by the texts of their paths.
type keyedItems struct {
	texts []string
	at    map[string]int
}

func itemsOf(p place, list []any) (keyedItems, bool) {
	keys := p.lists.Keys()
	items := keyedItems{make([]string, len(list)), make(map[string]int, len(list))}
	for i, v := range list {
		object, isObject := v.(map[string]any)
		if !isObject || len(keys) == 0 {
			return items, false
		}
		for _, key := range keys {
			switch object[key].(type) {
			case string, bool, int64:
			default:
				return items, false
			}
		}
		text, ok := p.item(i, v).text()
		if _, twice := items.at[text]; twice || !ok {
			return items, false
		}
		items.texts[i], items.at[text] = text, i
	}
	return items, len(keys) > 0
}
