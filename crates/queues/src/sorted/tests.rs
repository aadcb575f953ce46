//! The order against a plain sorted list.

use super::*;

fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Blocks, their bounds and the homes of the items agree.
fn check_blocks(blocks: &Blocks, sorted: &Sorted) {
    let mut above = i64::MIN;
    let mut items = 0;
    for block in sorted.tree.iter(&blocks.nodes) {
        let (bound, entries) = (blocks.nodes.key(block), blocks.blocks[block as usize].filled());
        assert!(above <= bound && !entries.is_empty() && bound <= entries[0].key);
        assert!(entries.is_sorted_by_key(|entry| entry.key));
        assert!(entries.iter().all(|entry| blocks.homes[entry.item as usize].block == block));
        above = entries.last().unwrap().key;
        items += entries.len();
    }
    assert_eq!(items, sorted.len());
}

/// Inserts and removes `items` items at random under `keys` distinct keys; the share of insertions swings.
fn agrees_with_a_list(items: u64, keys: u64, steps: u64, seed: u64) {
    let (mut blocks, mut sorted, mut state) = (Blocks::default(), Sorted::default(), seed);
    blocks.reserve(items as usize);
    let mut list: Vec<(i64, u64, u32)> = Vec::new();
    for step in 0..steps {
        let item = (next_random(&mut state) % items) as u32;
        let near = |list: &[(i64, u64, u32)], place: usize| list.get(place).map(|entry| entry.2);
        if let Some(place) = list.iter().position(|entry| entry.2 == item) {
            assert_eq!(sorted.next(&blocks, item), near(&list, place + 1));
            assert_eq!(sorted.prev(&blocks, item), place.checked_sub(1).and_then(|place| near(&list, place)));
            if step / (2 * items) % 2 == 1 || next_random(&mut state).is_multiple_of(4) {
                list.remove(place);
                assert_eq!(sorted.remove(&mut blocks, item), near(&list, place));
            }
        } else {
            // The ends of the range of keys are among them.
            let key = match next_random(&mut state) % (keys + 2) {
                0 => i64::MIN,
                1 => i64::MAX,
                other => other as i64,
            };
            let place = list.partition_point(|entry| entry.0 <= key);
            list.insert(place, (key, step, item));
            let before = place.checked_sub(1).and_then(|place| near(&list, place));
            assert_eq!(sorted.insert(&mut blocks, item, key), before);
            assert_eq!(blocks.key(item), key);
        }
        check_blocks(&blocks, &sorted);
        assert_eq!((sorted.first(&blocks), sorted.last(&blocks)), (near(&list, 0), list.last().map(|e| e.2)));
        let from = (next_random(&mut state) % (keys + 3)) as i64;
        assert_eq!(sorted.first_from(&blocks, from), list.iter().find(|e| e.0 >= from).map(|e| e.2));
    }
}

#[test]
fn an_order_agrees_with_a_sorted_list_under_random_insertions_and_removals() {
    agrees_with_a_list(600, 1_000_000, 12_000, 1);
}

#[test]
fn items_of_equal_key_stay_in_the_order_of_their_insertion_over_many_blocks() {
    agrees_with_a_list(600, 3, 12_000, 2);
    agrees_with_a_list(600, 40, 12_000, 3);
}

#[test]
fn a_sweep_that_takes_the_next_item_and_inserts_anywhere_meets_all_in_order() {
    let (mut blocks, mut sorted, mut state) = (Blocks::default(), Sorted::default(), 5);
    blocks.reserve(1_000);
    let mut keys = [0; 1_000];
    for item in 0..1_000 {
        keys[item as usize] = (next_random(&mut state) % 5_000) as i64;
        sorted.insert(&mut blocks, item, keys[item as usize]);
    }
    for _ in 0..20_000 {
        let item = sorted.first(&blocks).unwrap();
        let next = sorted.remove(&mut blocks, item);
        assert_eq!(next, sorted.first(&blocks));
        assert!(next.is_none_or(|next| keys[next as usize] >= keys[item as usize]));
        keys[item as usize] += (next_random(&mut state) % 5_000) as i64;
        sorted.insert(&mut blocks, item, keys[item as usize]);
    }
    check_blocks(&blocks, &sorted);
}

#[test]
fn nothing_allocates_after_reserve_whatever_the_number_of_orders() {
    let (mut blocks, mut orders, mut state) = (Blocks::default(), [Sorted::default(); 7], 9);
    blocks.reserve(700);
    let room = |blocks: &Blocks| (blocks.blocks.capacity(), blocks.unused.capacity(), blocks.homes.capacity());
    let before = room(&blocks);
    let mut where_is: [Option<usize>; 700] = [None; 700];
    for _ in 0..20_000 {
        let item = (next_random(&mut state) % 700) as usize;
        where_is[item] = match where_is[item] {
            Some(order) => {
                orders[order].remove(&mut blocks, item as u32);
                None
            }
            None => {
                let order = (next_random(&mut state) % 7) as usize;
                orders[order].insert(&mut blocks, item as u32, next_random(&mut state) as i64);
                Some(order)
            }
        };
    }
    assert_eq!(room(&blocks), before);
}
