//! What one caller may take of the reviews (I8).

use super::*;

#[tokio::test(start_paused = true)]
async fn i8_one_address_has_some_turns_of_the_reviews_and_others_have_theirs() {
    let (release, _) = tokio::sync::watch::channel(false);
    let slow = {
        let release = release.clone();
        let cluster = Cluster::default();
        tower::service_fn(move |request: Request<Body>| {
            let mut released = release.subscribe();
            let cluster = cluster.clone();
            async move {
                if request.uri().path().ends_with("tokenreviews") {
                    let _closed = released.wait_for(|released| *released).await;
                }
                Ok::<_, tower::BoxError>(cluster.answer(request).await)
            }
        })
    };
    let reviews = &Reviews::new(kube::Client::new(slow, "default"));
    let hostile = IpAddr::from([10, 0, 0, 7]);
    let flood =
        (0..100).map(|n| async move { reviews.check(hostile, &format!("token-{n}"), "/metrics").await });
    let other = async {
        let checked = reviews.check(IpAddr::from([10, 0, 0, 1]), "prometheus", "/metrics");
        let mut checked = std::pin::pin!(checked);
        assert!(futures::poll!(&mut checked).is_pending(), "it has a turn");
        release.send_replace(true);
        checked.await
    };
    let (flood, other) = tokio::join!(futures::future::join_all(flood), other);
    assert_eq!(other, Ok("prometheus".to_owned()));
    let busy = flood.iter().filter(|checked| **checked == Err(Refusal::Busy)).count();
    assert_eq!(busy, 98, "the others of that address are refused at once");
    // What is known needs no place.
    release.send_replace(false);
    let hanging =
        (0..2).map(|n| async move { reviews.check(hostile, &format!("new-{n}"), "/metrics").await });
    let known = async { reviews.check(hostile, "token-0", "/metrics").await };
    let (_, known) = tokio::join!(futures::future::join_all(hanging), known);
    assert!(matches!(known, Err(Refusal::Forbidden { .. })), "{known:?}");
}
