use std::collections::BTreeMap;

use super::*;

fn sleeper(layout: &Layout) -> State {
    layout.create_root().unwrap();
    layout.create().unwrap();
    let program = fs::canonicalize("/bin/sleep").unwrap();
    State::new(program, Pod { arguments: vec!["60".to_owned()], environment: BTreeMap::new() }, 1)
}

#[tokio::test]
async fn what_was_started_is_found_and_ended_by_a_later_command() {
    let planes = tempfile::tempdir().unwrap();
    let layout = Layout::below(planes.path(), "x").unwrap();
    assert!(Fedhub::load(&layout).is_err());
    let mut state = sleeper(&layout);
    for replica in Member::all() {
        state.spawn(&layout, replica, None, &Once::default()).unwrap();
        state.identity = None;
        state.save(&layout, replica).unwrap();
    }
    let fedhub = Fedhub::load(&layout).unwrap();
    let second = Fedhub::second(&layout).unwrap();
    let cell = Fedhub::cell(&layout, "ord").unwrap();
    assert!(cell.pid().is_some() && cell.pid() != fedhub.pid());
    assert!(fedhub.pid().is_some() && second.pid().is_some() && fedhub.pid() != second.pid());
    fedhub.pause().unwrap();
    assert!(fedhub.pid().is_some());
    fedhub.stop().await.unwrap();
    assert!(fedhub.pid().is_none() && second.pid().is_some());
    assert!(fedhub.ended() && !second.ended() && !cell.ended());
    fedhub.end().await.unwrap();
    assert_eq!((second.pid(), cell.pid()), (None, None));
    assert!(!second.ended() && !cell.ended());
    assert!(Fedhub::load(&layout).is_err());
}

#[tokio::test]
async fn who_attends_learns_how_it_ended() {
    let planes = tempfile::tempdir().unwrap();
    let layout = Layout::below(planes.path(), "x").unwrap();
    let mut state = sleeper(&layout);
    state.arguments = vec!["0".to_owned()];
    state.save(&layout, Member::First).unwrap();
    let fedhub = Fedhub::load(&layout).unwrap();
    assert!(fedhub.attend(&Once::default()).await.unwrap().success());
    let once = Once { flags: vec!["--lease-renew=1s".to_owned()], ..Once::default() };
    assert!(!fedhub.attend(&once).await.unwrap().success());
    let once = Once { flags: vec!["--networking".to_owned()], ..Once::default() };
    assert!(fedhub.attend(&once).await.unwrap_err().to_string().contains("components"));
    // Of simulated services, other things may be asked.
    state.save(&layout, Member::Quota).unwrap();
    let quota = Fedhub::known(&layout, Member::Quota).unwrap();
    assert!(!quota.attend(&once).await.unwrap().success());
}
