use super::*;

/// Letters and digits without a pattern, so that no test holds a token as it would be issued.
fn noise(length: usize) -> String {
    let alphabet = b"Q7kT2mZ9xR4bW8nJ5vL3cH6pF1dGsYqA";
    (0..length).map(|at| char::from(alphabet[(at * 7 + at / 5) % alphabet.len()])).collect()
}

fn upper(length: usize) -> String {
    noise(length).to_uppercase()
}

fn kinds(text: &str) -> Vec<&'static str> {
    find(text).map(|secret| secret.kind).collect()
}

fn tokens() -> Vec<(&'static str, String)> {
    let key = format!("-----BEGIN RSA PRIVATE{} KEY-----", "");
    vec![
        ("a private key", format!("{key}\n{}\n", noise(64))),
        ("a private key", format!("{{\"k\": \"{key}\\n{}\\n\"}}", noise(64))),
        ("a private key", format!("-----BEGIN PGP PRIVATE KEY BLOCK{}\n\n{}", "-----", noise(64))),
        ("an AWS access key", format!("AKIA{}", upper(16))),
        ("an AWS access key", format!("ASIA{}", upper(16))),
        ("a GitHub token", format!("ghp_{}", noise(36))),
        ("a GitHub token", format!("github_pat_{}_{}", noise(22), noise(59))),
        ("a GitLab token", format!("glpat-{}", noise(20))),
        ("a Slack token", format!("xoxb-123487650912-{}", noise(24))),
        (
            "a Slack webhook",
            format!("hooks.slack.com/services/T{}/B{}/{}", upper(8), upper(8), noise(24)),
        ),
        ("an Anthropic key", format!("sk-ant-api03-{}", noise(90))),
        ("an OpenAI key", format!("sk-proj-{}", noise(48))),
        ("an OpenAI key", format!("sk-{}T3BlbkFJ{}", noise(20), noise(20))),
        ("a Google key", format!("AIza{}", noise(35))),
        ("a Stripe key", format!("sk_live_{}", noise(24))),
        ("an npm token", format!("npm_{}", noise(36))),
        ("a Hugging Face token", format!("hf_{}", noise(34))),
        ("a SendGrid key", format!("SG.{}.{}", noise(22), noise(43))),
        ("a Google client secret", format!("GOCSPX-{}", noise(28))),
    ]
}

#[test]
fn what_counts_up_or_says_that_it_is_a_sample_is_no_secret_rs_08() {
    for body in [
        "A1B2C3D4E5F6G7H8I9J0K1L2M3N4O5P6Q7R8".to_owned(),
        "abcdefghijklmnopqrstuvwxyzabcdefgh12".to_owned(),
        format!("EXPOSED{}", noise(29)),
        format!("{}fake", noise(32)),
    ] {
        assert_eq!(kinds(&format!("ghp_{body}")), [""; 0], "{body}");
    }
}

#[test]
fn what_may_be_a_sample_is_doubtful_rs_08() {
    let sure = |text: &str| find(text).map(|secret| secret.sure).collect::<Vec<_>>();
    assert_eq!(sure(&format!("sk_live_{}", noise(24))), [true]);
    assert_eq!(sure(&format!("sk_live_test{}", noise(24))), [false]);
    for text in [
        format!("export SLACK_TOKEN=\"{}\"", noise(32)),
        format!("API_KEY={}\n", noise(40)),
        format!("API_KEY = '{}'", noise(24)),
        format!("CLIENT_SECRET=`{}`", noise(24)),
    ] {
        assert_eq!(sure(&text), [false], "{text}");
    }
}

#[test]
fn a_value_in_an_issuers_form_is_sure_whatever_variable_has_it_rs_08() {
    let text = format!("GITHUB_TOKEN=\"ghp_{}\"", noise(36));
    let found: Vec<_> = find(&text).collect();
    assert_eq!((found.len(), found[0].kind, found[0].sure), (1, "a GitHub token", true));
}

#[test]
fn values_that_are_no_keys_are_left_alone_rs_08() {
    for text in [
        "API_KEY=your-api-key-1234567890".to_owned(),
        "API_KEY=\"$OPENAI_API_KEY\"".to_owned(),
        "API_KEY=${OPENAI_API_KEY:-none}".to_owned(),
        "GITHUB_TOKEN=<paste it here 1234567>".to_owned(),
        "API_KEY=projects_my_project_2024_secret_name_1".to_owned(),
        format!("API_KEY={}", noise(12)),
        format!("USDC_TOKEN = '0x{}'", noise(40)),
        format!("API_KEY=\"{}", noise(32)),
        format!("API_KEY={}(x)", noise(32)),
    ] {
        assert_eq!(kinds(&text), [""; 0], "{text}");
    }
}

#[test]
fn tokens_are_found_wherever_they_stand_v_43() {
    for (kind, token) in tokens() {
        for text in [token.clone(), format!("export X=\"{token}\"\n"), format!("é ({token}).")] {
            assert_eq!(kinds(&text), [kind], "{text}");
            let span = find(&text).next().expect("the token is found").span;
            let whole = &text[span.start..span.end];
            assert!(kind == "a private key" || whole == token, "{whole} of {token}");
        }
    }
    let (_, token) = &tokens()[3];
    let text = format!("a {token} b");
    let found: Vec<_> = find(&text).collect();
    assert_eq!((found[0].span.start, found[0].span.end), (2, 22));
}

#[test]
fn tokens_are_found_in_the_order_of_the_text_v_43() {
    let (mut all, mut kinds_in_order) = (String::new(), Vec::new());
    for (kind, token) in tokens().into_iter().rev().filter(|(kind, _)| *kind != "a private key") {
        all.push_str(&token);
        all.push('\n');
        kinds_in_order.push(kind);
    }
    assert_eq!(kinds(&all), kinds_in_order);
    let starts: Vec<_> = find(&all).map(|secret| secret.span.start).collect();
    assert!(starts.is_sorted(), "{starts:?}");
}

#[test]
fn tokens_of_another_length_or_inside_words_are_none_v_43() {
    for text in [
        format!("AKIA{}", upper(15)),
        format!("AKIA{}", upper(17)),
        format!("xAKIA{}", upper(16)),
        format!("ghp_{}", noise(35)),
        format!("ghp_{}", noise(37)),
        format!("github_pat_{}-{}", noise(22), noise(59)),
        format!("github_pat_{}", noise(22)),
        format!("xoxb-{}", noise(24)),
        format!("sk-ant-{}", noise(20)),
        format!("sk-{}", noise(48)),
        format!("{}T3BlbkFJ{}", noise(20), noise(20)),
        format!("sk-{}T3BlbkFJ{}", noise(19), noise(20)),
        format!("a key: sk-{}T3BlbkFJ{}", noise(20), noise(19)),
        format!("github_pat__{}_{}", noise(22), noise(59)),
        format!("AIza{}", noise(36)),
        format!("-----BEGIN {}PRIVATE KEY-----\n{}", "A ".repeat(40), noise(64)),
        format!("-----BEGIN PRIVATE KEY-----\n{}{}", "- a\n".repeat(200), noise(64)),
        format!("SG.{}{}", noise(22), noise(43)),
        "SG.".to_owned(),
        "sha256:13282b32e467ac552a38bbbb006c7c7e1d9a5555b8915a4c7f3310bc64666995".to_owned(),
    ] {
        assert_eq!(kinds(&text), [""; 0], "{text}");
    }
}

#[test]
fn what_a_manual_shows_is_no_secret_v_43() {
    for text in [
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("ghp_{}", "x".repeat(36)),
        format!("ghp_{}", "abcdefghijklmnopqrstuvwxyz0123456789"),
        format!("ghp_{}", noise(36).replace(|c: char| c.is_ascii_digit(), "a")),
        format!("sk-ant-api03-your-key-{}", noise(90)),
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----".to_owned(),
        "-----BEGIN CERTIFICATE-----\nMIIB".to_owned(),
        format!("-----BEGIN PUBLIC KEY-----\n{}", noise(64)),
    ] {
        assert_eq!(kinds(&text), [""; 0], "{text}");
    }
}

#[test]
fn a_token_of_few_different_characters_is_made_up_v_43() {
    let token = |of: &str| format!("ghp_{}", of.chars().cycle().take(36).collect::<String>());
    assert_eq!(kinds(&token("a1b2c3d")), [""; 0]);
    assert_eq!(kinds(&token("q7k2zt9m")), ["a GitHub token"]);
}

#[test]
fn a_private_key_that_never_ends_is_taken_for_one_up_to_a_bound_v_43() {
    let text = ["-----BEGIN ", "PRIVATE KEY-----\n", &noise(64).repeat(400)].concat();
    let span = find(&text).next().expect("the key is found").span;
    assert_eq!((span.start, span.end), (0, 27 + 16_384));
}

#[test]
fn a_private_key_is_blotted_out_to_its_end_v_43() {
    let (head, foot) = (["-----BEGIN", "EC PRIVATE KEY-----"], ["-----END", "EC PRIVATE KEY-----"]);
    let (head, foot) = (head.join(" "), foot.join(" "));
    for between in ["\n", "\\n"] {
        let data = [noise(64), noise(60)].join(between);
        for key in
            [format!("{head}{between}{data}{between}{foot}"), format!("{head}{between}{data}")]
        {
            let text = format!("a \"{key}\" b.");
            let span = find(&text).next().expect("the key is found").span;
            assert_eq!(&text[span.start..span.end], key);
            let blotted = blotted(text.clone());
            assert!(blotted.starts_with("a \"----****") && blotted.ends_with("\" b."), "{blotted}");
            assert!(!blotted.contains(&noise(8)), "{blotted}");
        }
    }
}

#[test]
fn tokens_are_blotted_out_and_nothing_else_is_v_43() {
    let (_, token) = &tokens()[3];
    let text = format!("é {token} é");
    assert_eq!(blotted(text.clone()), format!("é AKIA{} é", "*".repeat(16)));
    assert_eq!(blotted("plain".to_owned()), "plain");
}
