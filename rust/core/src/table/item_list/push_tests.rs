use super::*;

/// One by one, in any room: texts stay texts, and another item makes a list of any types.
#[test]
fn items_are_pushed() {
    let texts = [
        "a",
        "",
        "a text that is longer than the room that there is",
        "é",
    ]
    .map(Item::Text);
    for room in [0, 1, 9] {
        let mut list = ItemList::with_room(room).unwrap();
        assert!(matches!(list, ItemList::Texts(_)) && list.is_empty());
        for text in texts {
            list.push(text).unwrap();
        }
        assert!(matches!(list, ItemList::Texts(_)));
        assert_eq!(list.collected().unwrap(), texts);
        let others = [Item::Bytes(b"b"), Item::Text("c"), Item::Signed(-3)];
        for item in others {
            list.push(item).unwrap();
        }
        assert!(matches!(list, ItemList::Mixed(_)));
        assert_eq!(list.collected().unwrap(), [&texts[..], &others].concat());
    }
    let mut list = ItemList::copied(Items::Unsigned(&[7])).unwrap();
    list.push(Item::Signed(-1)).unwrap();
    let items = list.collected().unwrap();
    assert_eq!(items, [Item::Unsigned(7), Item::Signed(-1)]);
    let mut hashed = ItemList::Fingerprints(vec![7]);
    assert!(hashed.push(Item::Signed(1)).is_err() && hashed.len() == 1);
}
